// A usage limit as it is kept: with its next reset worked out, and since when its present period counts.
import type { JsonObject } from '../../store/collection.ts';
import { periodStart, type Schedule } from './period.ts';

/**
 * The limit to keep. A limit of the same type in its place goes on counting where that one is: raising it in the
 * middle of a period neither forgets what was used nor brings back what an earlier period used. Any other limit
 * begins at zero, now.
 * @param limit as callers write it @param next its next reset @param before what is in its place
 * @param now Unix milliseconds
 */
export function keptLimit(
  limit: JsonObject,
  next: number | undefined,
  before: JsonObject | undefined,
  now: number,
): JsonObject {
  const goesOn = before !== undefined && before.type === limit.type;
  return {
    ...limit,
    ...(next === undefined ? {} : { next_usage_reset_at: new Date(next).toISOString() }),
    counted_since: goesOn ? periodStart(scheduleOf(before), now) : now,
  };
}

/** How a kept limit is reset. */
export function scheduleOf(limit: JsonObject): Schedule {
  const { periodic_reset: reset, periodic_reset_days: days, next_usage_reset_at: next } = limit;
  const { counted_since: began } = limit;
  return {
    reset: reset === 'weekly' || reset === 'monthly' ? reset : undefined,
    days: typeof days === 'number' ? days : undefined,
    next: typeof next === 'string' ? Date.parse(next) : undefined,
    began: typeof began === 'number' ? began : undefined,
    since: undefined,
  };
}
