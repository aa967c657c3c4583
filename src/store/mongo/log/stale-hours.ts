// Hours whose stored roll-ups no longer match their entries. An hour is marked before a late entry is added or an entry
// changes, so that later readers add up its entries until the roll-ups are remade.
import type mongoose from 'mongoose';
import type { Deadline } from '../calls.ts';
import { areDuplicateKeys } from '../failures.ts';
import { MAJORITY } from '../transaction.ts';
import type { LogPlace } from './place.ts';

/** A mark, as it is stored. */
export interface StaleHour {
  /** Of all that follows. */
  readonly _id: string;
  /** The bucket's name. */
  readonly bucket: string;
  readonly organisationId: string;
  /** Unix milliseconds at which it begins. */
  readonly hour: number;
  /** Unix milliseconds of the last mark. */
  readonly at: number;
  /** How often it was marked: remaking the roll-ups removes the mark that was read, and no later one. */
  readonly times: number;
}

export const STALE = 'log.stale';
export const STALE_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  { name: 'by_organisation', key: { organisationId: 1, hour: 1, bucket: 1 } },
  { name: 'by_mark', key: { at: 1 } },
  { name: 'by_bucket', key: { bucket: 1 } },
];

export const HOUR_MS = 3_600_000;
const TRIES = 3;

/** The hour of a time. */
export function hourOf(createdAt: number): number {
  return createdAt - (createdAt % HOUR_MS);
}

/** The members of an entry that place it in roll-ups. */
export interface Changed {
  readonly bucket: string;
  readonly organisationId: string;
  readonly createdAt: number;
}

/** Marks the hours of entries that are about to change. */
export async function markStale(
  { database }: LogPlace,
  changed: Iterable<Changed>,
  deadline: Deadline,
): Promise<void> {
  const now = Date.now();
  const marks = new Map<string, Omit<StaleHour, 'at' | 'times'>>();
  for (const { bucket, organisationId, createdAt } of changed) {
    const hour = hourOf(createdAt);
    const _id = `${bucket} ${hour} ${organisationId}`;
    if (!marks.has(_id)) marks.set(_id, { _id, bucket, organisationId, hour });
  }
  if (marks.size === 0) return;
  const writes = [...marks.values()].map(({ _id, ...mark }) => ({
    updateOne: {
      filter: { _id },
      update: { $set: mark, $max: { at: now }, $inc: { times: 1 } },
      upsert: true,
    },
  }));
  const options = { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
  for (let attempt = 1; ; attempt++) {
    try {
      await database.collection<StaleHour>(STALE).bulkWrite(writes, options);
      return;
    } catch (error) {
      // Two that mark an hour for the first time: one of them finds it the next time.
      if (attempt === TRIES || !areDuplicateKeys(error)) throw error;
    }
  }
}

/** The marked hours of an organisation in a span of time, as `bucket hour`. */
export async function staleHours(
  { database }: LogPlace,
  organisationId: string,
  from: number,
  until: number,
  deadline: Deadline,
): Promise<ReadonlySet<string>> {
  const marks = await database
    .collection<StaleHour>(STALE)
    .find({ organisationId, hour: { $gte: hourOf(from), $lt: until } })
    .project<Pick<StaleHour, 'bucket' | 'hour'>>({ _id: 0, bucket: 1, hour: 1 })
    .hint('by_organisation')
    .maxTimeMS(deadline.remaining())
    .toArray();
  return new Set(marks.map(({ bucket, hour }) => staleKey(bucket, hour)));
}

export function staleKey(bucket: string, hour: number): string {
  return `${bucket} ${hour}`;
}
