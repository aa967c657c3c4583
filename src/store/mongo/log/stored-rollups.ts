// Roll-ups as they are stored: a document for each organisation, hour, bucket of entries and set of dimensions (the
// member `cuboid`), in a collection for each month.
import type mongoose from 'mongoose';
import type { Deadline } from '../calls.ts';
import { areDuplicateKeys } from '../failures.ts';
import { MAJORITY } from '../transaction.ts';
import type { LogPlace } from './place.ts';

export interface RollupKey {
  readonly organisationId: string;
  readonly cuboid: string;
  /** Unix milliseconds at which it begins. */
  readonly hour: number;
  /** The name of the bucket of entries. */
  readonly bucket: string;
  /** Of the bucket. */
  readonly generation: number;
}

export interface RollupDocument extends RollupKey {
  /** Of all members of the key. */
  readonly _id: string;
  /** Of the lease under which it was made: an earlier one does not write over it. */
  readonly term: number;
  readonly rows: number;
  /** See rollup-bytes.ts; absent when there are too many rows to store. */
  readonly data?: mongoose.mongo.Binary;
  /** See first-token-bytes.ts; absent of those that a version without them has made. */
  readonly firstTokens?: mongoose.mongo.Binary;
}

export const ROLLUP_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  {
    name: 'by_hour',
    key: { organisationId: 1, cuboid: 1, hour: 1, bucket: 1 },
  },
];

export const ROLLUP_PATTERN = '^log\\.sums\\.[0-9]{6}$';

/** The collection of an hour. */
export function rollupCollection(hour: number): string {
  return `log.sums.${new Date(hour).toISOString().slice(0, 7).replace('-', '')}`;
}

/** The span of a collection's month, in Unix milliseconds. */
export function monthOf(name: string): { readonly from: number; readonly until: number } {
  const digits = name.slice(-6);
  const [year, month] = [Number(digits.slice(0, 4)), Number(digits.slice(4))];
  return { from: Date.UTC(year, month - 1), until: Date.UTC(year, month) };
}

/** The collections with roll-ups of a span of time. */
export async function rollupCollections(
  { database }: LogPlace,
  from: number,
  until: number,
  deadline: Deadline,
): Promise<string[]> {
  const found = await database
    .listCollections(
      { name: { $regex: ROLLUP_PATTERN } },
      { nameOnly: true, maxTimeMS: deadline.remaining() },
    )
    .toArray();
  return found
    .map(({ name }) => name)
    .filter((name) => monthOf(name).until > from && monthOf(name).from < until)
    .sort();
}

export function rollupId({ organisationId, cuboid, hour, bucket, generation }: RollupKey): string {
  return `${hour} ${bucket} ${generation} ${cuboid} ${organisationId}`;
}

/**
 * Replaces the roll-ups of an hour, unless the stored ones are of a later lease. A roll-up that had rows never becomes
 * empty, because entries are removed only with their bucket.
 */
export async function replaceRollup(
  { database, buckets }: LogPlace,
  hour: number,
  documents: readonly RollupDocument[],
  deadline: Deadline,
): Promise<void> {
  if (documents.length === 0) return;
  const name = rollupCollection(hour);
  await buckets.ensureCollection(name, ROLLUP_INDEXES);
  const writes = documents.map(({ _id, ...replacement }) => ({
    replaceOne: { filter: { _id, term: { $lte: replacement.term } }, replacement, upsert: true },
  }));
  const options = { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
  try {
    await database.collection<RollupDocument>(name).bulkWrite(writes, options);
  } catch (error) {
    // Those that a later lease has made.
    if (!areDuplicateKeys(error)) throw error;
  }
}
