// The names of the collections that entries and bodies are kept in: one for each UTC day and time to live, so that
// what is over goes with its collection.
const DAY_MS = 86_400_000;

export type BucketKind = 'entries' | 'bodies';

export interface Bucket {
  readonly name: string;
  /** Days since the epoch. */
  readonly day: number;
  /** Of records that say themselves how long they are kept. */
  readonly keepDays: number | undefined;
}

/** The first millisecond that a bucket may not be named for: the year 10,000. */
export const LAST_MS = 253_402_300_800_000;

/** Where a record of this time and time to live is. */
export function bucketOf(kind: BucketKind, createdAt: number, keepDays: number | undefined): Bucket {
  const day = Math.floor(createdAt / DAY_MS);
  const date = new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
  const name = `log.${kind}.${date}${keepDays === undefined ? '' : `.${keepDays}`}`;
  return { name, day, keepDays };
}

/** What a collection's name says; undefined when it is no bucket's. */
export function bucketNamed(kind: BucketKind, name: string): Bucket | undefined {
  const parts = /^log\.(entries|bodies)\.(\d{4})(\d\d)(\d\d)(?:\.(\d+))?$/.exec(name);
  if (parts?.[1] !== kind) return undefined;
  const ms = Date.parse(`${parts[2]}-${parts[3]}-${parts[4]}T00:00:00Z`);
  if (Number.isNaN(ms)) return undefined;
  return { name, day: ms / DAY_MS, keepDays: parts[5] === undefined ? undefined : Number(parts[5]) };
}

/** A pattern of the names of a kind. */
export function bucketPattern(kind: BucketKind): string {
  return `^log\\.${kind}\\.[0-9]{8}`;
}

/** Unix milliseconds at which a bucket's day begins. */
export function beginOf({ day }: Pick<Bucket, 'day'>): number {
  return day * DAY_MS;
}

/** Unix milliseconds at which it ends. */
export function endOf({ day }: Pick<Bucket, 'day'>): number {
  return (day + 1) * DAY_MS;
}

/** Whether a record belongs into a bucket. */
export function isIn(
  bucket: Bucket,
  record: { readonly createdAt: number; readonly keepDays?: number },
): boolean {
  return bucket.keepDays === record.keepDays && bucket.day === Math.floor(record.createdAt / DAY_MS);
}

/** Whether its records are to go by a time, with the days that records without their own are kept. */
export function isOver({ day, keepDays }: Bucket, days: number, now: number): boolean {
  return (day + 1 + Math.min(days, keepDays ?? days)) * DAY_MS <= now;
}
