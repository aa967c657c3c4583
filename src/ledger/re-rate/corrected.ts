// What an entry costs by the prices known now.

import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import type { Repriced } from '../../store/log-store.ts';
import { budgetNamed } from '../charged-budgets.ts';
import type { PriceList } from '../prices/price-list.ts';
import { costOfAttempt } from '../prices/priced.ts';

/** A correction of an entry, and by how much its budgets counted too little. */
export interface Correction {
  readonly repriced: Repriced;
  readonly before: bigint;
  readonly after: bigint;
  /** By the keys of its money budgets, in 1e-12 USD. */
  readonly deltas: ReadonlyMap<string, bigint>;
}

/**
 * Undefined: its costs are right, or not the gateway's to know. Attempts with unknown usage and attempts without a
 * price, stay as they are.
 */
export function correctionOf(prices: PriceList, entry: RequestRecord): Correction | undefined {
  if (entry.inserted) return undefined;
  const { id, createdAt, organisationId, attempts } = entry;
  const costs = attempts.map((attempt) => costNow(prices, attempt, organisationId));
  if (costs.every((cost, i) => cost === attempts[i]?.cost)) return undefined;
  const deltas = new Map<string, bigint>();
  const add = (keys: readonly string[] | undefined, amount: bigint): void => {
    for (const key of keys ?? [])
      if (budgetNamed(key).type === 'cost') deltas.set(key, (deltas.get(key) ?? 0n) + amount);
  };
  let [before, after] = [0n, 0n];
  for (const [i, attempt] of attempts.entries()) {
    const [was, is] = [BigInt(attempt.cost ?? 0), BigInt(costs[i] ?? 0)];
    before += was;
    after += is;
    add(attempt.budgets, is - was);
  }
  add(entry.budgets, after - before);
  return { repriced: { id, createdAt, cost: after.toString(), attempts: costs }, before, after, deltas };
}

function costNow(prices: PriceList, attempt: AttemptRecord, organisationId: string): string | undefined {
  if (attempt.usage === undefined) return attempt.cost;
  return costOfAttempt(prices, attempt, organisationId)?.toString() ?? attempt.cost;
}
