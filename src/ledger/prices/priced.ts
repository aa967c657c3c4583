// What attempts cost, by the prices that held when they began.
import type { AttemptRecord, RequestRecord, UsageRecord } from '../../call/record.ts';
import { costOf } from './cost.ts';
import { priceOfRates } from './own-rates.ts';
import type { Price } from './price.ts';
import type { PriceList } from './price-list.ts';

/** The cost of an attempt in 1e-12 USD: nothing without usage; undefined when its usage or its price is not known. */
export function costOfAttempt(
  prices: PriceList,
  attempt: AttemptRecord,
  organisationId: string,
): bigint | undefined {
  const { usage, serviceTier, pricing } = attempt;
  if (usage === undefined) return attempt.unpriced ? undefined : 0n;
  const price = priceOf(prices, attempt, organisationId);
  return price && costOf(price, usage, serviceTier, pricing?.factors);
}

function priceOf(prices: PriceList, attempt: AttemptRecord, organisationId: string): Price | undefined {
  const { provider, model, responseModel = '', startedAt, pricing } = attempt;
  return (
    (pricing?.rates && priceOfRates(pricing.rates)) ??
    prices.find(provider, model, startedAt, organisationId) ??
    prices.find(provider, responseModel, startedAt, organisationId)
  );
}

/** What the attempt would have cost more, had the provider kept no prompts; undefined when its cache had no part in it. */
function savedByPromptCache(
  prices: PriceList,
  attempt: AttemptRecord,
  organisationId: string,
  cost: bigint,
): bigint | undefined {
  const { usage, serviceTier, pricing } = attempt;
  if (usage === undefined || !(usage.cachedTokens || usage.cacheCreationTokens)) return undefined;
  const price = priceOf(prices, attempt, organisationId);
  const { cachedTokens: _, cacheCreationTokens: __, ...rest } = usage;
  const { cacheCreation1hTokens: ___, cachedAudioTokens: ____, ...uncached } = rest;
  const whole = price && costOf(price, uncached, serviceTier, pricing?.factors);
  return whole === undefined ? undefined : whole - cost;
}

/** What an answer from the cache would have cost. */
export function noteSaved(prices: PriceList, entry: Draft<RequestRecord>, usage: UsageRecord): void {
  const { provider, model, responseModel, createdAt, organisationId } = entry;
  const price =
    prices.find(provider, model, createdAt, organisationId) ??
    prices.find(provider, responseModel, createdAt, organisationId);
  const saved = price && costOf(price, usage);
  if (saved !== undefined) entry.saved = saved.toString();
}

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Writes the costs of an entry's attempts, and their sum, into it: it was just made, and a copy of all of it costs more. */
export function pricedEntry(prices: PriceList, entry: Draft<RequestRecord>): RequestRecord {
  let sum: bigint | undefined;
  let kept: bigint | undefined;
  for (const attempt of entry.attempts as readonly Draft<AttemptRecord>[]) {
    if (attempt.usage === undefined) {
      if (attempt.unpriced) entry.unpriced = true;
      continue;
    }
    if (attempt.usageEstimated) entry.usageEstimated = true;
    const cost = costOfAttempt(prices, attempt, entry.organisationId);
    if (cost === undefined) {
      attempt.unpriced = true;
      entry.unpriced = true;
      continue;
    }
    sum = (sum ?? 0n) + cost;
    attempt.cost = cost.toString();
    const saved = savedByPromptCache(prices, attempt, entry.organisationId, cost);
    if (saved !== undefined) kept = (kept ?? 0n) + saved;
  }
  if (kept !== undefined) entry.promptCacheSaved = kept.toString();
  // A cached answer costs nothing; an unknown price is not zero.
  if (sum !== undefined || !entry.unpriced) entry.cost = (sum ?? 0n).toString();
  return entry;
}
