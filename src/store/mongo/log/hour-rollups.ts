// The roll-ups of one hour of an organisation in a bucket, one for each set of dimensions.
import { setImmediate } from 'node:timers/promises';
import mongoose from 'mongoose';
import { addRollup, emptyFirstTokens, emptyRollup } from '../../log/rollups.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { encodeFirstTokens } from './first-token-bytes.ts';
import {
  type FirstTokenRow,
  firstTokenPipeline,
  firstTokensOf,
  groupOf,
  type RollupRow,
  rollupOf,
  rollupPipeline,
} from './group-pipeline.ts';
import type { LogPlace } from './place.ts';
import { encodeRows, type KeptRow } from './rollup-bytes.ts';
import { KEPT, type KeptDimension, ROLLUPS, type Rollup } from './rollups.ts';
import { HOUR_MS } from './stale-hours.ts';
import { type RollupDocument, type RollupKey, rollupId } from './stored-rollups.ts';

/** Most rows of all dimensions together: with more, each roll-up is asked for by itself. */
const ALL_ROWS = 20_000;
/** Most rows of one roll-up; with more it is not kept, and its entries are read. */
const ROWS = 100_000;
const BYTES = 12 * 1024 * 1024;
/** Rows merged between two turns of the event loop. */
const SLICE = 500;
/** The shortest span that is added up with one command, in milliseconds. */
const SHORTEST_MS = 60_000;

type Hour = Omit<RollupKey, 'cuboid'>;
type Rows = Map<string, KeptRow>;

/**
 * The documents to store; a roll-up without rows has none.
 * @param allRows of all dimensions together that are put together here.
 */
export async function hourRollups(
  place: LogPlace,
  hour: Hour,
  term: number,
  deadline: Deadline,
  allRows: number = ALL_ROWS,
): Promise<RollupDocument[]> {
  const all = await rowsBy(place, hour, KEPT, allRows, deadline);
  const documents: RollupDocument[] = [];
  for (const rollup of ROLLUPS) {
    const rows = all ? await folded(all, rollup) : await rowsBy(place, hour, rollup.by, ROWS, deadline);
    if (rows?.size === 0) continue;
    documents.push(documentOf(hour, rollup, term, rows && [...rows.values()]));
  }
  return documents;
}

function documentOf(
  hour: Hour,
  { name }: Rollup,
  term: number,
  rows: readonly KeptRow[] | undefined,
): RollupDocument {
  const { organisationId, hour: begin, bucket, generation } = hour;
  const key = { organisationId, cuboid: name, hour: begin, bucket, generation };
  const bare = { _id: rollupId(key), ...key, term };
  const bytes = rows && encodeRows(rows);
  if (rows === undefined || bytes === undefined || bytes.length > BYTES) return { ...bare, rows: ROWS };
  const first = encodeFirstTokens(rows.map(({ rollup }) => rollup.firstTokens ?? emptyFirstTokens()));
  return {
    ...bare,
    rows: rows.length,
    data: new mongoose.mongo.Binary(bytes),
    // Both together stay within the server's 16 MiB.
    ...(bytes.length + first.length > BYTES ? {} : { firstTokens: new mongoose.mongo.Binary(first) }),
  };
}

/** Rows by fewer dimensions. */
async function folded(all: Rows, { by }: Rollup): Promise<Rows> {
  const places = by.map((dimension) => KEPT.indexOf(dimension));
  const rows: Rows = new Map();
  let count = 0;
  for (const { values, rollup } of all.values()) {
    if (++count % SLICE === 0) await setImmediate();
    addRow(rows, { values: places.map((place) => values[place] as string), rollup });
  }
  return rows;
}

function addRow(rows: Rows, { values, rollup }: KeptRow): void {
  const key = JSON.stringify(values);
  let row = rows.get(key);
  if (row === undefined) {
    row = { values, rollup: emptyRollup(true) };
    rows.set(key, row);
  }
  addRollup(row.rollup, rollup);
}

/** Undefined when there are more than a number of them. */
async function rowsBy(
  place: LogPlace,
  { organisationId, hour, bucket }: Hour,
  by: readonly KeptDimension[],
  most: number,
  deadline: Deadline,
): Promise<Rows | undefined> {
  const rows: Rows = new Map();
  // What takes too long is added up in halves.
  const spans: [number, number][] = [[hour, hour + HOUR_MS]];
  for (let span = spans.pop(); span; span = spans.pop()) {
    const [from, until] = span;
    const match = { organisationId, createdAt: { $gte: from, $lt: until } };
    const grouping = { bucketMs: undefined, by, userless: true };
    const pipeline = rollupPipeline(match, grouping, most + 1);
    const bound = { maxTimeMS: Math.min(place.commandMs, deadline.remaining()), allowDiskUse: true };
    const options = { ...bound, hint: KEY_INDEX, batchSize: SLICE };
    const entries = place.database.collection(bucket);
    let found: RollupRow[];
    let firstTokens: FirstTokenRow[];
    try {
      found = await entries.aggregate<RollupRow>(pipeline, options).toArray();
      firstTokens = await entries
        .aggregate<FirstTokenRow>(firstTokenPipeline(match, grouping, most + 1), options)
        .toArray();
    } catch (error) {
      if (!isOutOfTime(error) || until - from <= SHORTEST_MS) throw error;
      const middle = Math.floor((from + until) / 2);
      spans.push([from, middle], [middle, until]);
      continue;
    }
    for (const [index, row] of found.entries()) {
      if (index % SLICE === SLICE - 1) await setImmediate();
      addRow(rows, { values: groupOf(row._id, by.length), rollup: rollupOf(row) });
    }
    for (const [index, row] of firstTokens.entries()) {
      if (index % SLICE === SLICE - 1) await setImmediate();
      addRow(rows, { values: groupOf(row._id, by.length), rollup: firstTokensOf(row) });
    }
    if (rows.size > most) return undefined;
  }
  return rows;
}
