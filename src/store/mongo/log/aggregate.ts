// Aggregation of entries over buckets: the server adds up each bucket, and the results are merged here.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { type GatewayError, invalidField } from '../../../lib/errors.ts';
import type { LogAggregation } from '../../log/aggregation.ts';
import type { GroupTable } from '../../log/group-table.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import type { Filter } from '../page-filter.ts';
import { type Bucket, beginOf, endOf } from './bucket-name.ts';
import { type EntryMatch, timesOf } from './entry-filter.ts';
import {
  type FirstTokenRow,
  firstTokenPipeline,
  firstTokensOf,
  groupOf,
  type RollupRow,
  rollupOf,
  rollupPipeline,
  uniquePipeline,
} from './group-pipeline.ts';
import { textOfKept } from './kept-text.ts';
import type { LogPlace } from './place.ts';

/** A bucket's name, and the span of time to read in it. */
export interface EntrySpan {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

/** The times of a bucket within a span. */
export function spanOf(bucket: Bucket, from: number, until: number): EntrySpan {
  return { name: bucket.name, from: Math.max(from, beginOf(bucket)), until: Math.min(until, endOf(bucket)) };
}

/** Spans added up at once. */
const TOGETHER = 4;
/** Groups of a span, and distinct values in it. */
const ROWS = 200_000;
/** All of them. */
const TABLE = 1_000_000;
/** Rows merged between two turns of the event loop. */
const SLICE = 500;
/** The shortest span that is added up with one command, in milliseconds. */
const SHORTEST_MS = 60_000;

/** Adds the entries of spans up into a table. @throws validation_failed on `until` when they are too many. */
export async function addEntries(
  place: LogPlace,
  { match, aggregation, table }: EntryTotals,
  spans: readonly EntrySpan[],
  deadline: Deadline,
): Promise<void> {
  const left = [...spans];
  const work = async (): Promise<void> => {
    for (let span = left.pop(); span; span = left.pop()) {
      try {
        const found = await readSpan(place, match, aggregation, span, deadline);
        await addFound(found, aggregation, table);
      } catch (error) {
        if (!isOutOfTime(error)) throw error;
        // What takes too long for one command is added up in halves.
        left.push(...halves(span));
      }
      if (deadline.remaining() <= 1) throw tooMany();
    }
  };
  try {
    await Promise.all(Array.from({ length: TOGETHER }, work));
  } catch (error) {
    left.length = 0;
    throw error;
  }
}

/** What is added up, and where to. */
export interface EntryTotals {
  readonly match: EntryMatch;
  readonly aggregation: LogAggregation;
  readonly table: GroupTable;
}

interface Found {
  readonly rollups: readonly RollupRow[];
  readonly values: readonly UniqueRow[];
  readonly firstTokens: readonly FirstTokenRow[];
}

type UniqueRow = Pick<RollupRow, '_id'> & { readonly _id: { readonly u?: unknown } };

/** All of a span before any of it is added: what is cut off is not added twice. */
async function readSpan(
  { database, commandMs }: LogPlace,
  { filter, lead, exact }: EntryMatch,
  { bucketMs, by = [], unique, latencies, firstTokens: isAsked }: LogAggregation,
  span: EntrySpan,
  deadline: Deadline,
): Promise<Found> {
  const collection = database.collection(span.name);
  const match = matchIn(filter, span);
  const options = (): mongoose.mongo.AggregateOptions => ({
    ...(exact ? { hint: lead.index } : {}),
    allowDiskUse: true,
    maxTimeMS: Math.min(commandMs, deadline.remaining()),
    batchSize: SLICE,
  });
  const grouping = { bucketMs, by };
  const rollups = await collection
    .aggregate<RollupRow>(rollupPipeline(match, grouping, ROWS + 1, latencies !== false), options())
    .toArray();
  const values =
    unique === undefined
      ? []
      : await collection
          .aggregate<UniqueRow>(uniquePipeline(match, grouping, unique, ROWS + 1), options())
          .toArray();
  const firstTokens = isAsked
    ? await collection
        .aggregate<FirstTokenRow>(firstTokenPipeline(match, grouping, ROWS + 1), options())
        .toArray()
    : [];
  if (rollups.length > ROWS || values.length > ROWS) throw tooMany();
  return { rollups, values, firstTokens };
}

async function addFound(
  { rollups, values, firstTokens }: Found,
  { by = [] }: LogAggregation,
  table: GroupTable,
): Promise<void> {
  for (const [index, row] of rollups.entries()) {
    table.add(Number(row._id.b), groupOf(row._id, by.length).map(textOfKept), rollupOf(row));
    if (index % SLICE === SLICE - 1) await setImmediate();
  }
  for (const [index, row] of firstTokens.entries()) {
    table.add(Number(row._id.b), groupOf(row._id, by.length).map(textOfKept), firstTokensOf(row));
    if (index % SLICE === SLICE - 1) await setImmediate();
  }
  for (const [index, { _id }] of values.entries()) {
    table.addUnique(Number(_id.b), groupOf(_id, by.length).map(textOfKept), textOfKept(String(_id.u)));
    if (index % SLICE === SLICE - 1) await setImmediate();
  }
  if (table.size > TABLE || table.distinct > TABLE) throw tooMany();
}

function halves({ name, from, until }: EntrySpan): EntrySpan[] {
  if (until - from <= SHORTEST_MS) throw tooMany();
  const middle = Math.floor((from + until) / 2);
  return [
    { name, from, until: middle },
    { name, from: middle, until },
  ];
}

function matchIn(filter: Filter, { from, until }: EntrySpan): Filter {
  return { ...filter, createdAt: timesOf(from, until) };
}

export function tooMany(): GatewayError {
  return invalidField('until', 'with this filter means too many entries: ask for a shorter time', 'range');
}
