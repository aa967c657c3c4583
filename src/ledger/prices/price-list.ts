// What tokens cost: the seed of public list prices, in whole units of 1e-12 US dollars.
import { readFileSync } from 'node:fs';
import type { UsageRecord } from '../../store/request-log.ts';

/** Rates of a model, in 1e-12 USD per token. A rate that is not there is the plain one of its side. */
export interface Price {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** The seed's file. */
interface Seed {
  readonly source: { readonly package: string; readonly version: string; readonly taken: string };
  readonly providers: Readonly<Record<string, Readonly<Record<string, Price>>>>;
}

/** Finds prices. */
export interface PriceList {
  /** Undefined: nothing is known of the model's price. */
  find(provider: string, model: string): Price | undefined;
  /** For a call whose provider is not chosen yet: the price at the first provider that has such a model. */
  findAnywhere(model: string): Price | undefined;
}

/** Units of one US dollar. */
export const PER_DOLLAR = 1_000_000_000_000n;

/** Reads the seed, once, at start. */
export function openPriceList(): PriceList {
  const seed: Seed = JSON.parse(readFileSync(new URL('./seed.json', import.meta.url), 'utf8'));
  const providers = new Map(
    Object.entries(seed.providers).map(([id, models]) => [id, new Map(Object.entries(models))]),
  );
  return {
    find: (provider, model) => providers.get(provider)?.get(model),
    findAnywhere(model) {
      for (const models of providers.values()) {
        const price = models.get(model);
        if (price !== undefined) return price;
      }
      return undefined;
    },
  };
}

/**
 * What the tokens cost, in 1e-12 USD: exact, no binary fraction is summed. Tokens read from or written to a
 * provider's cache are part of the prompt's, tokens of reasoning part of the completion's.
 */
export function costOf(price: Price, usage: UsageRecord): bigint {
  const { promptTokens, completionTokens = 0 } = usage;
  const read = Math.min(usage.cachedTokens ?? 0, promptTokens);
  const written = Math.min(usage.cacheCreationTokens ?? 0, promptTokens - read);
  const reasoned = Math.min(usage.reasoningTokens ?? 0, completionTokens);
  const { input = 0, output = 0 } = price;
  return (
    times(promptTokens - read - written, input) +
    times(read, price.cacheRead ?? input) +
    times(written, price.cacheWrite ?? input) +
    times(completionTokens - reasoned, output) +
    times(reasoned, price.reasoning ?? output)
  );
}

/** US dollars as written, in 1e-12 USD; what is finer is left out. @param dollars not negative */
export function dollarsOf(dollars: number): bigint {
  const [digits = '', exponent = '0'] = dollars.toExponential().split('e');
  const [whole = '', part = ''] = digits.split('.');
  const shift = Number(exponent) - part.length + 12;
  const all = BigInt(whole + part);
  return shift >= 0 ? all * 10n ** BigInt(shift) : all / 10n ** BigInt(-shift);
}

function times(tokens: number, rate: number): bigint {
  return BigInt(tokens) * BigInt(rate);
}
