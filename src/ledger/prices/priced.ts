// What attempts cost, by the prices that held when they began.
import type { AttemptRecord, RequestRecord } from '../../store/request-log.ts';
import { costOf, type PriceList } from './price-list.ts';

/** The cost of an attempt in 1e-12 USD: nothing without usage; undefined when there is usage and no price. */
export function costOfAttempt(
  prices: PriceList,
  attempt: AttemptRecord,
  organisationId: string,
): bigint | undefined {
  const { provider, model, responseModel = '', usage, startedAt } = attempt;
  if (usage === undefined) return 0n;
  const price =
    prices.find(provider, model, startedAt, organisationId) ??
    prices.find(provider, responseModel, startedAt, organisationId);
  return price && costOf(price, usage);
}

/** The entry with the costs of its attempts, and their sum. */
export function pricedEntry(prices: PriceList, entry: RequestRecord): RequestRecord {
  let sum: bigint | undefined;
  let unpriced = false;
  let estimated = false;
  const attempts = entry.attempts.map((attempt): AttemptRecord => {
    if (attempt.usage === undefined) return attempt;
    if (attempt.usageEstimated) estimated = true;
    const cost = costOfAttempt(prices, attempt, entry.organisationId);
    if (cost === undefined) {
      unpriced = true;
      return { ...attempt, unpriced: true };
    }
    sum = (sum ?? 0n) + cost;
    return { ...attempt, cost: cost.toString() };
  });
  return {
    ...entry,
    attempts,
    ...(estimated ? { usageEstimated: true } : {}),
    // What came from the cache cost nothing; a price that nobody knows is not nothing.
    ...(sum !== undefined || !unpriced ? { cost: (sum ?? 0n).toString() } : {}),
    ...(unpriced ? { unpriced: true } : {}),
  };
}
