// What calls cost, to the last digit: by kinds of tokens, tiers, long prompts, an integration's adjustments.
import test from 'ava';
import fc from 'fast-check';
import type { RequestRecord, UsageRecord } from '../../src/call/record.ts';
import { costOf } from '../../src/ledger/prices/cost.ts';
import { priceOfRates } from '../../src/ledger/prices/own-rates.ts';
import { type Price, ratesFor } from '../../src/ledger/prices/price.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { pricedEntry } from '../../src/ledger/prices/priced.ts';

const usage = (own: Partial<UsageRecord>): UsageRecord => ({
  promptTokens: 1000,
  completionTokens: 100,
  totalTokens: 1100,
  ...own,
});

test('every kind of token has its rate, or the plain one of its side', (t) => {
  const price: Price = {
    input: 2,
    output: 7,
    cacheRead: 1,
    cacheWrite: 3,
    reasoning: 11,
    inputAudio: 13,
    outputAudio: 17,
    cacheReadAudio: 5,
    inputImage: 19,
    outputImage: 23,
    perCall: 1009,
  };
  const cases: readonly (readonly [Partial<UsageRecord>, number])[] = [
    [{}, 2000 + 700],
    [{ cachedTokens: 100 }, 900 * 2 + 100 + 700],
    [{ cacheCreationTokens: 100 }, 900 * 2 + 300 + 700],
    [{ reasoningTokens: 40 }, 2000 + 60 * 7 + 40 * 11],
    [{ inputAudioTokens: 10, outputAudioTokens: 5 }, 990 * 2 + 10 * 13 + 95 * 7 + 5 * 17],
    [{ inputImageTokens: 10, outputImageTokens: 5 }, 990 * 2 + 10 * 19 + 95 * 7 + 5 * 23],
    [
      { cachedTokens: 100, cachedAudioTokens: 30, inputAudioTokens: 50 },
      880 * 2 + 70 * 1 + 30 * 5 + 20 * 13 + 700,
    ],
    // What does not add up is never charged twice.
    [{ cachedTokens: 5000, cacheCreationTokens: 5000, reasoningTokens: 5000 }, 1000 * 1 + 100 * 11],
  ];
  for (const [own, cost] of cases) t.is(costOf(price, usage(own)), BigInt(cost + 1009), JSON.stringify(own));
  t.is(costOf({ input: 2, output: 7 }, usage({ inputAudioTokens: 10, cachedTokens: 10 })), 2700n);
});

test('tiers and long prompts change what they name, and no more', (t) => {
  const price: Price = {
    input: 10,
    output: 20,
    cacheRead: 5,
    tiers: { flex: { input: 4, output: 8 }, batch: { input: 3, output: 6 } },
    long: { above: 1000, input: 100, tiers: { flex: { input: 40 } } },
  };
  t.is(costOf(price, usage({})), 12_000n);
  t.is(costOf(price, usage({}), 'flex'), 4800n);
  t.is(costOf(price, usage({}), 'batch'), 3600n);
  t.is(costOf(price, usage({}), 'unheard-of'), 12_000n);
  t.is(costOf(price, usage({ cachedTokens: 100 }), 'flex'), 900n * 4n + 500n + 800n);
  const long = { promptTokens: 1001, totalTokens: 1101 };
  t.is(costOf(price, usage(long)), 1001n * 100n + 2000n);
  t.is(costOf(price, usage(long), 'flex'), 1001n * 40n + 800n);
});

test('the seed has tiers, long prompts, audio, images and prices of calls', (t) => {
  const list = openPriceList();
  const find = (provider: string, model: string) => list.find(provider, model, Date.now()) as Price;
  const mini = find('openai', 'gpt-4o-mini');
  t.is(ratesFor(mini, 10, 'batch').input, (mini.input as number) / 2);
  t.true((ratesFor(mini, 10, 'priority').input as number) > (mini.input as number));
  const long = find('openai', 'gpt-5.4');
  t.true((ratesFor(long, 272_001, undefined).input as number) > (long.input as number));
  t.is(ratesFor(long, 272_000, undefined).input, long.input);
  t.truthy(find('openai', 'gpt-image-1').outputImage);
  t.truthy(find('perplexity-ai', 'sonar-small-online').perCall);
});

test('factors: the one that is named, else default, else none; rounded once', (t) => {
  const price: Price = { input: 10, output: 20, cacheRead: 5, reasoning: 30, perCall: 100 };
  const own = usage({ cachedTokens: 100, reasoningTokens: 40 });
  const plain = 900 * 10 + 100 * 5 + 60 * 20 + 40 * 30 + 100;
  t.is(costOf(price, own, undefined, {}), BigInt(plain));
  t.is(costOf(price, own, undefined, { default: 2 }), BigInt(plain * 2));
  t.is(costOf(price, own, undefined, { default: 0 }), 0n);
  t.is(costOf(price, own, undefined, { request_token: 3 }), BigInt(plain + 2 * 9000));
  t.is(costOf(price, own, undefined, { response_token: 3 }), BigInt(plain + 2 * 1200));
  t.is(
    costOf(price, own, undefined, { default: 1.1, reasoning_token: 0, 'additional_units.request': 2 }),
    BigInt(Math.round((9000 + 500 + 1200) * 1.1 + 200)),
  );
  // Tokens that have no rate of their own follow the factor of their side.
  const { cacheRead: _, reasoning: __, ...simple } = price;
  t.is(costOf(simple, own, undefined, { request_token: 2, response_token: 3 }), 20_000n + 6000n + 100n);
  t.is(
    costOf({ input: 1 }, usage({ promptTokens: 3, completionTokens: 0 }), undefined, { default: 0.5 }),
    2n,
  );
  const predicted = usage({ acceptedPredictionTokens: 30, rejectedPredictionTokens: 20 });
  t.is(costOf({ output: 10 }, predicted, undefined, { prediction_rejected_token: 2 }), 1200n);
});

test('the short way and the long way come to the same, whatever the usage', (t) => {
  const count = fc.nat(2_000_000);
  const rate = fc.option(fc.nat(1_000_000_000), { nil: undefined });
  const without = <T extends object>(all: T): T =>
    Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T;
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.record({
          input: rate,
          output: rate,
          cacheRead: rate,
          cacheWrite: rate,
          cacheWrite1h: rate,
          reasoning: rate,
          perCall: rate,
        }),
        fc.record({
          promptTokens: count,
          completionTokens: count,
          cachedTokens: count,
          cacheCreationTokens: count,
          cacheCreation1hTokens: fc.option(count, { nil: undefined }),
          reasoningTokens: count,
        }),
        (rates, counts) => {
          const price = without(rates) as Price;
          const own: UsageRecord = {
            ...without(counts),
            totalTokens: counts.promptTokens + counts.completionTokens,
          };
          const cost = costOf(price, own);
          // A factor of one, and kinds of tokens of which there are none, take the long way.
          return (
            cost === costOf(price, own, undefined, { default: 1 }) &&
            cost === costOf(price, { ...own, inputImageTokens: 0 })
          );
        },
      ),
      { numRuns: 500 },
    ),
  );
});

test('what a cache keeps for an hour has its rate, else that of what is written', (t) => {
  const written = usage({ cacheCreationTokens: 600, cacheCreation1hTokens: 200 });
  const plain: Price = { input: 4, output: 10, cacheWrite: 5 };
  const own = priceOfRates({
    request_token: 4e-12,
    response_token: 1e-11,
    cache_write_1h_input_token: 8e-12,
  });
  t.is(costOf(plain, written), costOf(plain, usage({ cacheCreationTokens: 600 })));
  t.is(costOf({ ...plain, cacheWrite1h: 8 }, written)! - costOf(plain, written)!, 200n * 3n);
  t.is(costOf(own, written)! - costOf(own, usage({}))!, 200n * 4n);
  const long = { ...plain, cacheWrite1h: 8 };
  t.is(
    costOf(long, written, undefined, { cache_write_input_token: 2, default: 1 }),
    400n * 4n + 200n * 16n + 400n * 10n + 1000n,
  );
});

test('searches of the web are paid in addition to tokens', (t) => {
  const searched = usage({ webSearches: 3 });
  const price: Price = { input: 4, output: 10, perWebSearch: 1000 };
  t.is(costOf(price, searched)! - costOf(price, usage({}))!, 3000n);
  t.is(costOf({ input: 4, output: 10 }, searched), costOf(price, usage({})));
  t.is(costOf(price, searched, undefined, { 'additional_units.web_search': 0 }), costOf(price, usage({})));
});

test('an integration says rates in dollars', (t) => {
  t.deepEqual(priceOfRates({ request_token: 0.0000025, response_token: 1e-11, request: 0.01, other: 5 }), {
    input: 2_500_000,
    output: 10,
    perCall: 10_000_000_000,
  });
});

test('a search of a rerank has its rate, in the list and as an integration sets it, and no tokens', (t) => {
  const searched: UsageRecord = { promptTokens: 0, totalTokens: 0, searchUnits: 3 };
  const listed = openPriceList().find('cohere', 'rerank-v3.5', Date.now());
  t.is(costOf(listed!, searched), 6_000_000_000n);
  t.is(costOf(priceOfRates({ search: 0.001 }), searched), 3_000_000_000n);
});

test('what a provider’s prompt cache saved is in the entry, below nothing where writing cost more', (t) => {
  const found: Price = { input: 4, output: 10, cacheRead: 1, cacheWrite: 5 };
  const list = { find: () => found } as unknown as Parameters<typeof pricedEntry>[0];
  const savedBy = (...usages: readonly UsageRecord[]): string | undefined => {
    const attempts = usages.map((one) => ({ provider: 'p', model: 'm', startedAt: 0, usage: one }));
    return pricedEntry(list, { organisationId: 'o', attempts } as unknown as RequestRecord).promptCacheSaved;
  };
  t.is(savedBy(usage({})), undefined);
  t.is(savedBy(usage({ cachedTokens: 0 })), undefined);
  t.is(savedBy(usage({ cachedTokens: 600 })), '1800');
  t.is(savedBy(usage({ cacheCreationTokens: 600 })), '-600');
  t.is(savedBy(usage({ cachedTokens: 600 }), usage({ cacheCreationTokens: 100 })), '1700');
});
