// Entries of the version before, in one collection: moved into buckets at the start.
import { randomUUID } from 'node:crypto';
import type mongoose from 'mongoose';
import type { RequestRecord } from '../../../call/record.ts';
import { decodeEntry } from '../../log/entry-text.ts';
import type { Deadline } from '../calls.ts';
import { areDuplicateKeys } from '../failures.ts';
import { type Placed, readRows } from '../scan.ts';
import { isGone } from './buckets.ts';
import { importRowsOf, prepareEntries, rowsByBucket } from './entry-appends.ts';
import { entryColumns } from './entry-row.ts';
import type { LogPlace } from './place.ts';

const OLD = 'log.entries';
/**
 * Prefix of the collection's name while its entries are moved; a number follows. An instance of the version before may
 * create a new collection under the old name, and the number makes sure that only the copied collection is dropped.
 */
const MOVING = 'log.entries.moving.';
const BATCH = 500;
/** Kept for a person to look at. */
const REFUSED = 'log.entries.refused';

interface OldRow extends Placed {
  readonly entry: string;
}

/**
 * Moves what there is; of several starts at once each may do all of it, and one that is cut off is made up for by the
 * next. Entries that an instance of the version before writes afterwards are moved by the next start.
 */
export async function moveOldEntries(place: LogPlace, deadline: Deadline): Promise<void> {
  const { database } = place;
  const there = await database
    .listCollections(
      { name: { $regex: '^log\\.entries(\\.moving\\.|$)' } },
      { nameOnly: true, maxTimeMS: deadline.remaining() },
    )
    .toArray();
  for (const { name } of there) {
    if (name !== OLD) await moveAll(place, name, deadline);
    else await moveAll(place, await renamed(database), deadline);
  }
}

/** The new name of the old collection. */
async function renamed(database: mongoose.mongo.Db): Promise<string> {
  const name = MOVING + randomUUID().slice(0, 8);
  try {
    await database.renameCollection(OLD, name);
  } catch (error) {
    // Another instance started first and moves it.
    if (!isGone(error)) throw error;
  }
  return name;
}

async function moveAll(place: LogPlace, name: string, deadline: Deadline): Promise<void> {
  const collection = place.database.collection<OldRow>(name);
  let last: mongoose.mongo.ObjectId | undefined;
  try {
    for (;;) {
      const cursor = collection
        .find(last === undefined ? {} : { _id: { $gt: last } })
        .project<OldRow>({ entry: 1 })
        .sort({ _id: 1 })
        .limit(BATCH)
        .maxTimeMS(deadline.remaining());
      const { rows } = await readRows(cursor, ({ entry }) => entry.length);
      if (rows.length === 0) break;
      await moveBatch(place, rows, deadline);
      last = rows.at(-1)?._id;
    }
  } catch (error) {
    // Another start was through, and dropped it.
    if (!isGone(error)) throw error;
  }
  await place.buckets.drop(name);
}

async function moveBatch(place: LogPlace, rows: readonly OldRow[], deadline: Deadline): Promise<void> {
  const records: RequestRecord[] = [];
  const refused: OldRow[] = [];
  for (const row of rows) {
    const record = decodeEntry(row.entry);
    if (isWhole(record)) records.push(record);
    else refused.push(row);
  }
  const buckets = await rowsByBucket(records);
  await prepareEntries(place, buckets, deadline);
  await importRowsOf(place.database, buckets, deadline);
  if (refused.length === 0) return;
  try {
    await place.database.collection<OldRow>(REFUSED).insertMany(refused, { ordered: false });
  } catch (error) {
    if (!areDuplicateKeys(error)) throw error;
  }
}

/** What a program of before may have taken and this one does not. */
function isWhole(record: RequestRecord): boolean {
  try {
    entryColumns(record);
    return true;
  } catch {
    return false;
  }
}
