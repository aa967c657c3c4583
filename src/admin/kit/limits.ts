// Usage and rate limits as callers write them, prepared for storage.
import {
  PeriodicReset,
  type RateLimit,
  RateLimitSchema,
  RateLimitUnit,
  type UsageLimit,
  UsageLimitSchema,
} from '../../../gen/gateway/common/v2/limits_pb.ts';
import { keptLimit } from '../../ledger/limits/kept-limit.ts';
import type { Usage } from '../../ledger/limits/usage.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { readTime } from './time.ts';

const DAY_MS = 86_400_000;
/** Members that show a limit's usage: callers may send back what they read. */
const ANSWERED_ONLY = new Set([
  'current_usage',
  'held_usage',
  'free_usage',
  'status',
  'is_threshold_alerts_sent',
  'is_exhausted_alerts_sent',
]);

/**
 * A usage limit with its next reset worked out: 00:00 UTC of the given day, or the first Monday, first of a
 * month or n-th day from now.
 * @param field its place in the request
 * @param before the limits that it replaces: one of the same type continues to count
 * @throws GatewayError validation_failed for a reset that is not in the future.
 */
export function usageLimitJson(
  limit: UsageLimit,
  field: string,
  now: number,
  before?: JsonObject,
): JsonObject {
  const given = limit.nextUsageResetAt;
  const next =
    given === undefined ? nextReset(limit, now) : midnight(readTime(`${field}.next_usage_reset_at`, given));
  if (given !== undefined && next !== undefined && next <= now)
    throw invalidField(`${field}.next_usage_reset_at`, 'must be on a day to come');
  const json = codec.encode(UsageLimitSchema, limit) as JsonObject;
  const written = Object.entries(json).filter(([name]) => !ANSWERED_ONLY.has(name));
  return keptLimit(Object.fromEntries(written), next, before, now);
}

/** The limit as a message again. @param usage its present usage; undefined: not shown */
export function usageLimitOf(json: JsonObject, usage?: Usage): UsageLimit {
  const { counted_since: _, ...written } = json;
  const limit = codec.decode(UsageLimitSchema, written);
  if (usage === undefined) return limit;
  limit.currentUsage = usage.current;
  limit.heldUsage = usage.held;
  limit.freeUsage = usage.free;
  limit.status = usage.exhausted ? 'exhausted' : 'active';
  limit.isThresholdAlertsSent = usage.thresholdAlertSent;
  limit.isExhaustedAlertsSent = usage.exhaustedAlertSent;
  if (usage.nextResetAt !== undefined) limit.nextUsageResetAt = new Date(usage.nextResetAt).toISOString();
  return limit;
}

/** When usage starts again from zero after `from`, in Unix milliseconds; undefined: never. */
function nextReset({ periodicReset, periodicResetDays }: UsageLimit, from: number): number | undefined {
  const name =
    periodicReset === PeriodicReset.WEEKLY
      ? 'weekly'
      : periodicReset === PeriodicReset.MONTHLY
        ? 'monthly'
        : undefined;
  return nextResetOf(name, periodicResetDays, from);
}

/** The first Monday, first of a month or n-th day after `from`, at 00:00 UTC; undefined when there is no period. */
export function nextResetOf(
  period: 'weekly' | 'monthly' | undefined,
  days: number | undefined,
  from: number,
): number | undefined {
  const today = midnight(from);
  const date = new Date(today);
  if (days !== undefined) return today + days * DAY_MS;
  if (period === 'weekly') return today + ((8 - date.getUTCDay()) % 7 || 7) * DAY_MS;
  if (period === 'monthly') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  return undefined;
}

/**
 * Rate limits, at most one for each type and unit.
 * @param units those that the owner may use
 * @throws GatewayError validation_failed for others and for doubles.
 */
export function rateLimitsJson(
  limits: readonly RateLimit[],
  field: string,
  units: readonly RateLimitUnit[],
): readonly JsonObject[] {
  const seen = new Set<string>();
  return limits.map((limit, i) => {
    const json = codec.encode(RateLimitSchema, limit) as JsonObject;
    if (!units.includes(limit.unit))
      throw invalidField(`${field}[${i}].unit`, `must not be ${String(json.unit)} here`);
    const key = `${String(json.type)} per ${String(json.unit)}`;
    if (seen.has(key)) throw invalidField(`${field}[${i}]`, `is a second limit of ${key}`);
    seen.add(key);
    return json;
  });
}

/** The limit as a message again. */
export function rateLimitOf(json: JsonObject): RateLimit {
  return codec.decode(RateLimitSchema, json);
}

/** Units of everything but keys and policies. */
export const COMMON_UNITS: readonly RateLimitUnit[] = [
  RateLimitUnit.RPM,
  RateLimitUnit.RPH,
  RateLimitUnit.RPD,
  RateLimitUnit.CONCURRENT,
];

/** 00:00 UTC of a time's day. */
export function midnight(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
