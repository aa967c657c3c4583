// Appending entries: all of a batch or nothing, each entry once, wherever their buckets are.
import { setImmediate } from 'node:timers/promises';
import mongoose from 'mongoose';
import { readWritten } from '../../log/entry-text.ts';
import type { WrittenEntry } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import { areDuplicateKeys, DUPLICATE_KEY, isDuplicateKey } from '../failures.ts';
import { rawDocuments } from '../raw-documents.ts';
import { inTransaction, MAJORITY } from '../transaction.ts';
import { type Bucket, bucketOf, isIn } from './bucket-name.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { type EntryRow, entryRow } from './entry-row.ts';
import type { LogPlace } from './place.ts';
import { type RowBytes, rowBytes } from './row-bytes.ts';
import { type Changed, hourOf, markStale } from './stale-hours.ts';

/** Rows made between two turns of the event loop: about a millisecond's work. */
const SLICE = 100;

/** UTF-16 units of text in one command: three bytes each at most, and as much again; the server takes 48 MB. */
const PART = 6 * 1024 * 1024;
const PART_ROWS = 10_000;
/** Bytes for the members other than the text. */
const FIXED = 1024;

/** What rows were written into last: appends mostly come one after another. */
let spare: RowBytes | undefined;
const MOST_SPARE = 4 * 1024 * 1024;

/** Rows of one bucket. */
export interface BucketRows<Row> {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** By what a row is known. */
export interface RowKey {
  readonly organisationId: string;
  readonly createdAt: number;
  readonly id: string;
}

/** A row that knows how large it is. */
export interface SizedRow extends RowKey {
  /** Its text, or its bytes, which are most of it. */
  readonly entry?: string;
  readonly data?: mongoose.mongo.Binary;
}

/** Makes what rows need before they come: their buckets, and marks on hours that are late. */
export async function prepareEntries(
  place: LogPlace,
  buckets: readonly BucketRows<RowKey>[],
  deadline: Deadline,
): Promise<void> {
  const before = hourOf(Date.now() - place.lateMs);
  const late: Changed[] = [];
  for (const { name, rows } of buckets) {
    await place.buckets.ensure('entries', name, deadline);
    for (const { organisationId, createdAt } of rows) {
      if (createdAt < before) late.push({ bucket: name, organisationId, createdAt });
    }
  }
  if (late.length > 0) await markStale(place, late, deadline);
}

/**
 * The rows of a batch by their buckets, each key once. @param texts of entries that were written before, by place. Throws
 * `validation_failed` when an entry is broken.
 */
export async function rowsByBucket(
  batch: readonly WrittenEntry[],
  texts: readonly (string | undefined)[] = [],
): Promise<BucketRows<EntryRow>[]> {
  const buckets = new Map<string, Map<string, EntryRow>>();
  // Mostly it is the one of the entry before.
  let bucket: Bucket | undefined;
  let rows = new Map<string, EntryRow>();
  for (let i = 0; i < batch.length; i++) {
    if (i > 0 && i % SLICE === 0) await setImmediate();
    const written = batch[i] as WrittenEntry;
    const record = readWritten(written);
    const row = entryRow(record, typeof written === 'string' ? written : texts[i]);
    if (bucket === undefined || !isIn(bucket, record)) {
      bucket = bucketOf('entries', record.createdAt, record.keepDays);
      rows = buckets.get(bucket.name) ?? new Map();
      buckets.set(bucket.name, rows);
    }
    const key = keyOf(row);
    if (!rows.has(key)) rows.set(key, row);
  }
  return [...buckets].map(([name, rows]) => ({ name, rows: [...rows.values()] }));
}

/** Stores rows that are not stored yet. Looks which those are only when a first try says that some are. */
export async function appendRows<Row extends SizedRow>(
  place: LogPlace,
  buckets: readonly BucketRows<Row>[],
  deadline: Deadline,
): Promise<void> {
  let missing = buckets.filter(({ rows }) => rows.length > 0);
  for (let attempt = 0; missing.length > 0; attempt++) {
    try {
      await insertAll(place, missing, deadline);
      return;
    } catch (error) {
      // Another try of the same batch may be under way: then this one finds its rows the next time.
      if (!isDuplicateKey(error) || !(await deadline.backOff(attempt))) throw error;
      missing = await absentOf(place.database, missing, deadline);
    }
  }
}

/**
 * As `appendRows`, each row by itself: when it rejects, some may be stored. Without a transaction, which a process that is
 * killed leaves open: others would wait for its rows until the server gives it up (a minute).
 */
export async function appendApart<Row extends SizedRow>(
  { database }: LogPlace,
  buckets: readonly BucketRows<Row>[],
  deadline: Deadline,
): Promise<void> {
  for (const { name, rows } of buckets) {
    for (const part of partsOf(rows)) {
      const bounds = { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
      const { writeErrors = [], writeConcernError } = await insertPart(database, name, part, bounds);
      // Those that are stored already.
      const refused = writeErrors.find(({ code }) => code !== DUPLICATE_KEY) ?? writeConcernError;
      if (refused) throw new mongoose.mongo.MongoServerError(refused);
    }
  }
}

/** As `appendRows`, each row by itself, by the driver's own means: for commands. */
export async function importRowsOf<Row extends SizedRow>(
  database: mongoose.mongo.Db,
  buckets: readonly BucketRows<Row>[],
  deadline: Deadline,
): Promise<void> {
  for (const { name, rows } of buckets) {
    const bound = { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
    try {
      // The driver writes its `_id` into what it is given.
      await database.collection(name).insertMany(
        rows.map((row) => ({ ...row })),
        bound,
      );
    } catch (error) {
      // Those that are stored already.
      if (!areDuplicateKeys(error)) throw error;
    }
  }
}

async function insertAll<Row extends SizedRow>(
  { connection, database }: LogPlace,
  buckets: readonly BucketRows<Row>[],
  deadline: Deadline,
): Promise<void> {
  const [only] = buckets;
  if (buckets.length === 1 && only?.rows.length === 1) {
    // One document's write is atomic by itself.
    const options = { maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
    await database.collection(only.name).insertMany([{ ...only.rows[0] }], options);
    return;
  }
  await inTransaction(connection, deadline, async (session) => {
    for (const { name, rows } of buckets) {
      for (const part of partsOf(rows)) {
        const [refused] = (await insertPart(database, name, part, {}, session)).writeErrors ?? [];
        if (refused) throw new mongoose.mongo.MongoServerError(refused);
      }
    }
  });
}

/**
 * The command itself: the driver's bulk writes measure and copy each document before, which costs as much as all else.
 * The server makes the `_id`s.
 */
async function insertPart<Row extends SizedRow>(
  database: mongoose.mongo.Db,
  name: string,
  rows: readonly Row[],
  more: mongoose.mongo.Document,
  session?: mongoose.mongo.ClientSession,
): Promise<Inserted> {
  const own = spare ?? rowBytes();
  spare = undefined;
  try {
    own.clear();
    for (const row of rows) own.add(row);
    const documents = rawDocuments(own.written()) ?? rows;
    const command = { insert: name, documents, ...more };
    return (await database.command(command, session === undefined ? {} : { session })) as Inserted;
  } finally {
    if (own.written().length <= MOST_SPARE) spare = own;
  }
}

/** The server's answer. */
interface Inserted {
  readonly writeErrors?: readonly mongoose.mongo.ErrorDescription[];
  readonly writeConcernError?: mongoose.mongo.ErrorDescription;
}

/** Rows of one command: the server takes 48 MB with one. */
function* partsOf<Row extends SizedRow>(rows: readonly Row[]): Generator<readonly Row[]> {
  let begin = 0;
  let size = 0;
  for (let i = 0; i < rows.length; i++) {
    const own = sizeOf(rows[i] as Row);
    if (i > begin && (size + own > PART || i - begin === PART_ROWS)) {
      yield rows.slice(begin, i);
      begin = i;
      size = 0;
    }
    size += own;
  }
  if (begin < rows.length) yield begin === 0 ? rows : rows.slice(begin);
}

async function absentOf<Row extends SizedRow>(
  database: mongoose.mongo.Db,
  buckets: readonly BucketRows<Row>[],
  deadline: Deadline,
): Promise<BucketRows<Row>[]> {
  const left: BucketRows<Row>[] = [];
  for (const { name, rows } of buckets) {
    const stored = await storedKeys(database, name, rows, deadline);
    const missing = rows.filter((row) => !stored.has(keyOf(row)));
    if (missing.length > 0) left.push({ name, rows: missing });
  }
  return left;
}

/** Keys of those rows that are stored. */
export async function storedKeys(
  database: mongoose.mongo.Db,
  name: string,
  rows: readonly RowKey[],
  deadline: Deadline,
): Promise<Set<string>> {
  const stored = new Set<string>();
  for (const [organisationId, own] of Map.groupBy(rows, (row) => row.organisationId)) {
    const found = await database
      .collection<RowKey>(name)
      .find({
        organisationId,
        createdAt: { $in: [...new Set(own.map((row) => row.createdAt))] },
        id: { $in: own.map((row) => row.id) },
      })
      .project<RowKey>({ _id: 0, organisationId: 1, createdAt: 1, id: 1 })
      .hint(KEY_INDEX)
      .maxTimeMS(deadline.remaining())
      .toArray();
    for (const row of found) stored.add(keyOf(row));
  }
  return stored;
}

export function keyOf({ organisationId, createdAt, id }: RowKey): string {
  return `${createdAt} ${organisationId.length} ${organisationId}${id}`;
}

function sizeOf({ entry, data }: SizedRow): number {
  return FIXED + (entry?.length ?? 0) + (data?.length() ?? 0) / 3;
}
