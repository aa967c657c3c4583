// What an aggregation may ask for, for every adapter.
import { invalidField } from '../../lib/errors.ts';
import { checkInteger } from '../document-checks.ts';
import type { LogAggregation, LogDimension, LogMeasure } from './aggregation.ts';

const HOUR_MS = 3_600_000;
const NAMED: readonly LogDimension[] = [
  ...(['workspace', 'apiKey', 'userId', 'user', 'provider', 'model', 'virtualKey', 'config'] as const),
  ...(['prompt', 'statusCode', 'cacheStatus', 'retries', 'errorReason'] as const),
];
const MEASURES: readonly LogMeasure[] = [
  ...(['requests', 'cost', 'totalTokens', 'errors', 'lastSeen', 'firstSeen', 'group'] as const),
];

/** The aggregation with known members only. Throws `validation_failed` naming the member. */
export function checkAggregation({
  bucketMs,
  by,
  unique,
  latencies,
  firstTokens,
  order,
  skip,
  take,
}: LogAggregation): LogAggregation {
  if (bucketMs !== undefined) {
    checkInteger('bucketMs', bucketMs, 1);
    const fits = HOUR_MS % bucketMs === 0 || bucketMs % HOUR_MS === 0;
    if (!fits) throw invalidField('bucketMs', 'must be a divisor or a multiple of an hour', 'in');
  }
  if (by !== undefined && (!Array.isArray(by) || by.length > 2)) {
    throw invalidField('by', 'must be a list of two dimensions at most', 'max_items');
  }
  if (order !== undefined) {
    const right =
      MEASURES.includes(order.measure) && (order.direction === 'asc' || order.direction === 'desc');
    if (!right) throw invalidField('order', 'must be a measure and a direction', 'in');
  }
  return {
    ...(bucketMs === undefined ? {} : { bucketMs }),
    ...(by === undefined ? {} : { by: by.map((dimension) => checkDimension('by', dimension)) }),
    ...(unique === undefined ? {} : { unique: checkDimension('unique', unique) }),
    ...(latencies === false ? { latencies } : {}),
    ...(firstTokens === true ? { firstTokens } : {}),
    ...(order === undefined ? {} : { order }),
    ...(skip === undefined ? {} : { skip: checkInteger('skip', skip, 0) }),
    ...(take === undefined ? {} : { take: checkInteger('take', take, 0) }),
  };
}

/** A dimension with known members only. Throws `validation_failed` naming the field. */
export function checkDimension(field: string, dimension: LogDimension): LogDimension {
  if (typeof dimension === 'object' && dimension !== null && typeof dimension.metadata === 'string') {
    return { metadata: dimension.metadata };
  }
  if (!NAMED.includes(dimension)) throw invalidField(field, 'is no dimension', 'in');
  return dimension;
}
