// Other costs on entries that are stored.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { decodeEntry, encodeEntry } from '../../log/entry-text.ts';
import { repricedEntry } from '../../log/repriced.ts';
import type { Repriced } from '../../log-store.ts';
import type { Deadline } from '../calls.ts';
import { MAJORITY } from '../transaction.ts';
import { type Bucket, beginOf, endOf } from './bucket-name.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { type EntryRow, moneyOf } from './entry-row.ts';
import { keptText } from './kept-text.ts';
import type { LogPlace } from './place.ts';
import { markStale } from './stale-hours.ts';

type StoredRow = Pick<EntryRow, 'createdAt' | 'id' | 'entry'> & { readonly _id: mongoose.mongo.ObjectId };

/** Entries of one command. */
const PART = 200;

/** Corrections with the bucket that they may be in. */
export interface BucketCorrections {
  readonly bucket: Bucket;
  readonly corrections: readonly Repriced[];
}

/** Corrections by the buckets that there are for their days. */
export function correctionsByBucket(
  buckets: readonly Bucket[],
  corrections: readonly Repriced[],
): BucketCorrections[] {
  return buckets
    .map((bucket) => ({
      bucket,
      corrections: corrections.filter(
        ({ createdAt }) => createdAt >= beginOf(bucket) && createdAt < endOf(bucket),
      ),
    }))
    .filter((one) => one.corrections.length > 0);
}

/** Writes corrections into a bucket; how many of their entries are there. Again with the same it changes nothing. */
export async function repriceBucket(
  place: LogPlace,
  organisationId: string,
  { bucket, corrections }: BucketCorrections,
  deadline: Deadline,
): Promise<number> {
  const collection = place.database.collection<EntryRow>(bucket.name);
  let count = 0;
  for (let at = 0; at < corrections.length; at += PART) {
    if (at > 0) await setImmediate();
    const part = corrections.slice(at, at + PART);
    const wanted = new Map(part.map((one) => [keyOf({ ...one, id: keptText(one.id) }), one]));
    const rows = await collection
      .find({
        organisationId,
        createdAt: { $in: [...new Set(part.map(({ createdAt }) => createdAt))] },
        id: { $in: part.map(({ id }) => keptText(id)) },
      })
      .project<StoredRow>({ createdAt: 1, id: 1, entry: 1 })
      .hint(KEY_INDEX)
      .maxTimeMS(deadline.remaining())
      .toArray();
    const writes = rows.flatMap((row) => {
      const correction = wanted.get(keyOf(row));
      return correction === undefined ? [] : [writeOf(row, correction)];
    });
    count += writes.length;
    const changed = { bucket: bucket.name, organisationId };
    await markStale(
      place,
      rows.map(({ createdAt }) => ({ ...changed, createdAt })),
      deadline,
    );
    const changes = writes.filter((write) => write !== undefined);
    if (changes.length === 0) continue;
    await collection.bulkWrite(changes, {
      ordered: false,
      maxTimeMS: deadline.remaining(),
      writeConcern: MAJORITY,
    });
  }
  return count;
}

function keyOf({ createdAt, id }: { readonly createdAt: number; readonly id: string }): string {
  return `${createdAt} ${id}`;
}

/** Undefined when the entry says it already. */
function writeOf(
  { _id, entry }: StoredRow,
  correction: Repriced,
): mongoose.mongo.AnyBulkWriteOperation<EntryRow> | undefined {
  const record = decodeEntry(entry);
  const text = encodeEntry(repricedEntry(record, correction));
  if (text === encodeEntry(record)) return undefined;
  const { cost } = correction;
  const update = { entry: text, cost: cost === undefined ? 0n : moneyOf(cost) };
  return { updateOne: { filter: { _id }, update: { $set: update } } };
}
