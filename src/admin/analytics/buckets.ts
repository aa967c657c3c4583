// Stretches of time: how long they are over a range, and where they begin.

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The bucket length by range, for ranges up to a span: at most 745 buckets, and 401 days. */
const LENGTHS: readonly { readonly upTo: number; readonly bucketMs: number }[] = [
  { upTo: 6 * HOUR_MS, bucketMs: MINUTE_MS },
  { upTo: DAY_MS, bucketMs: 5 * MINUTE_MS },
  { upTo: 31 * DAY_MS, bucketMs: HOUR_MS },
];

/** How long the buckets of a range are. All are milliseconds. */
export function bucketLength(from: number, until: number): number {
  return LENGTHS.find(({ upTo }) => until - from <= upTo)?.bucketMs ?? DAY_MS;
}

/** Where the buckets that a range touches begin, at whole ones of UTC; the first and the last may reach beyond it. */
export function bucketsOf(from: number, until: number, bucketMs: number): readonly number[] {
  const first = Math.floor(from / bucketMs) * bucketMs;
  return Array.from({ length: Math.ceil((until - first) / bucketMs) }, (_, i) => first + i * bucketMs);
}
