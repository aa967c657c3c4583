// Facets over buckets: the server counts the values of all fields in one go, for a stretch of time after the other from
// the newest on, until all are counted or the time is over.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import type { LogDimension } from '../../log/aggregation.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import { type Bucket, beginOf, endOf } from './bucket-name.ts';
import { type EntryMatch, timesOf } from './entry-filter.ts';
import { dimensionOrNothing } from './group-pipeline.ts';
import { textOfKept } from './kept-text.ts';
import type { LogPlace } from './place.ts';

/** What is counted: the matching entries of a span of time. */
export interface FacetEntries {
  readonly match: EntryMatch;
  readonly from: number;
  readonly until: number;
}

/** Per dimension, how often there is each value. */
export interface FacetTable {
  readonly counts: readonly Map<string, number>[];
  /** Entries from this time on are counted; undefined: all are. */
  readonly countedFrom: number | undefined;
}

interface FacetRow {
  readonly _id: { readonly k: number; readonly v: unknown };
  readonly n: number;
}

const HOUR_MS = 3_600_000;
/** The stretch that is counted first; longer ones follow where that was quick. */
const FIRST_MS = HOUR_MS;
const QUICK_MS = 300;
/** The shortest that is counted with one command. */
const SHORTEST_MS = 60_000;
/** Values of a stretch, and of all together. */
const ROWS = 50_000;
const TABLE = 200_000;
/** Rows taken in between two turns of the event loop. */
const SLICE = 500;

export async function countFacets(
  place: LogPlace,
  buckets: readonly Bucket[],
  entries: FacetEntries,
  by: readonly LogDimension[],
  deadline: Deadline,
): Promise<FacetTable> {
  const counts = by.map(() => new Map<string, number>());
  const days = [...Map.groupBy(buckets, ({ day }) => day)].sort(([a], [b]) => b - a);
  let width = FIRST_MS;
  for (const [, own] of days) {
    const [first] = own as [Bucket];
    const begin = Math.max(entries.from, beginOf(first));
    for (let until = Math.min(entries.until, endOf(first)); until > begin; ) {
      const from = Math.max(begin, until - width);
      const since = performance.now();
      const rows = await countStretch(place, own, { ...entries, from, until }, by, deadline);
      if (rows !== undefined) await addRows(rows, counts);
      const isFull = counts.reduce((sum, { size }) => sum + size, 0) > TABLE;
      if (rows === undefined) width = (until - from) / 2;
      else {
        until = from;
        if (performance.now() - since < QUICK_MS) width *= 2;
      }
      const isOver = deadline.remaining() <= 1 || width < SHORTEST_MS || isFull;
      if (isOver && (until > begin || own !== days.at(-1)?.[1])) return { counts, countedFrom: until };
    }
  }
  return { counts, countedFrom: undefined };
}

/** Undefined: it is too much for one command. */
async function countStretch(
  { database, commandMs }: LogPlace,
  buckets: readonly Bucket[],
  { match, from, until }: FacetEntries,
  by: readonly LogDimension[],
  deadline: Deadline,
): Promise<readonly FacetRow[] | undefined> {
  const { filter, lead, exact } = match;
  const stages = facetPipeline({ ...filter, createdAt: timesOf(from, until) }, by);
  const options: mongoose.mongo.AggregateOptions = {
    ...(exact ? { hint: lead.index } : {}),
    allowDiskUse: true,
    maxTimeMS: Math.min(commandMs, deadline.remaining()),
    batchSize: SLICE,
  };
  try {
    const found = await Promise.all(
      buckets.map(({ name }) => database.collection(name).aggregate<FacetRow>(stages, options).toArray()),
    );
    return found.some((rows) => rows.length > ROWS) ? undefined : found.flat();
  } catch (error) {
    if (isOutOfTime(error)) return undefined;
    throw error;
  }
}

function facetPipeline(
  match: mongoose.mongo.Document,
  by: readonly LogDimension[],
): mongoose.mongo.Document[] {
  // A comparison, which the index of reasons answers.
  const reasons = by.every((dimension) => dimension === 'errorReason') ? { errorReason: { $gte: '' } } : {};
  return [
    { $match: { ...match, ...reasons } },
    { $project: { _id: 0, v: by.map(dimensionOrNothing) } },
    { $unwind: { path: '$v', includeArrayIndex: 'k' } },
    { $match: { v: { $nin: ['', null] } } },
    { $group: { _id: { k: '$k', v: '$v' }, n: { $sum: 1 } } },
    { $limit: ROWS + 1 },
  ];
}

async function addRows(rows: readonly FacetRow[], counts: readonly Map<string, number>[]): Promise<void> {
  for (const [index, { _id, n }] of rows.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    const own = counts[Number(_id.k)];
    const value = textOfKept(String(_id.v));
    own?.set(value, (own.get(value) ?? 0) + Number(n));
  }
}
