import test from 'ava';
import { centsOfRate, rateOfCents } from '../../src/ledger/prices/cents.ts';
import { OwnPrices } from '../../src/ledger/prices/own-prices.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';

const DAY = 86_400_000;

function own(id: string, provider: string, model: string, from: number, input: number, organisationId = 'o') {
  const body = { provider, model, effectiveFrom: from, price: { input }, createdBy: 'k' };
  const facts = { createdAt: 0, updatedAt: 0, schemaVersion: 1, version: 1 };
  return { id, organisationId, status: 'active' as const, ...facts, body };
}

test('the row counts that held at the time; of the own organisation, before the list', (t) => {
  const prices = new OwnPrices();
  const list = openPriceList([], prices);
  prices.replica.apply(own('2', 'openai', 'gpt-4o', 2 * DAY, 22));
  prices.replica.apply(own('1', 'openai', 'gpt-4o', DAY, 11));
  const at = (day: number, organisationId?: string) =>
    list.find('openai', 'gpt-4o', day * DAY, organisationId)?.input;
  t.deepEqual([at(0, 'o'), at(1, 'o'), at(1.9, 'o'), at(2, 'o')], [2_500_000, 11, 11, 22]);
  t.deepEqual([at(2, 'other'), at(2)], [2_500_000, 2_500_000]);
  prices.replica.apply({ ...own('2', 'openai', 'gpt-4o', 3 * DAY, 33), version: 2 });
  t.deepEqual([at(2, 'o'), at(3, 'o')], [11, 33]);
  prices.replica.apply({ ...own('2', 'openai', 'gpt-4o', 3 * DAY, 33), version: 3, status: 'archived' });
  t.is(at(3, 'o'), 11);
});

test('a model whose provider is not chosen yet has the own price of any provider', (t) => {
  const prices = new OwnPrices();
  const list = openPriceList([], prices);
  prices.replica.apply(own('1', 'ollama', 'ours', 0, 5));
  prices.replica.apply(own('2', 'groq', 'ours', DAY, 6));
  t.is(list.findAnywhere('ours', 0, 'o')?.input, 5);
  t.is(list.findAnywhere('ours', DAY, 'o')?.input, 6);
  t.is(list.findAnywhere('ours', DAY), undefined);
  prices.replica.apply({ ...own('2', 'groq', 'ours', DAY, 6), version: 2, status: 'archived' });
  t.is(list.findAnywhere('ours', DAY, 'o')?.input, 5);
});

test('cents and rates are the same decimals', (t) => {
  for (const [cents, rate] of [
    [0, 0],
    [0.000015, 150_000],
    [1e-10, 1],
    [0.1, 1_000_000_000],
    [100_000, 1_000_000_000_000_000],
    [0.0123456789, 123_456_789],
  ] as const) {
    t.is(rateOfCents(cents), rate);
    t.is(centsOfRate(rate), cents);
  }
  for (const finer of [1e-11, 1e-13, 5e-324, 0.00000000015]) t.is(rateOfCents(finer), undefined, `${finer}`);
});
