// Time buckets: a UTC day, and how long its entries are kept when that is their own.

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** Of entries without `keepDays`. */
export const UNLIMITED = -1;

export interface Bucket {
  /** Days since 1970. */
  readonly day: number;
  /** `keepDays`, or UNLIMITED. */
  readonly keep: number;
}

export function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}

/** `2026-11-21`, followed by the days that its entries are kept, if any: `2026-11-21.7d`. */
export function bucketName({ day, keep }: Bucket): string {
  const time = day * DAY_MS;
  const date =
    time >= 0 && time < 253_402_300_800_000 ? new Date(time).toISOString().slice(0, 10) : `day${day}`;
  return keep === UNLIMITED ? date : `${date}.${keep}d`;
}

/** Whether a bucket that is kept for at most so many days has expired. */
export function isOver({ day, keep }: Bucket, days: number, now: number): boolean {
  return day + 1 + (keep === UNLIMITED ? days : Math.min(days, keep)) <= now / DAY_MS;
}
