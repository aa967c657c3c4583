// Feedback beside entries: one collection, each with the members of its trace's entry, so that it is found by them.
import type mongoose from 'mongoose';
import { invalidField } from '../../../lib/errors.ts';
import type { FeedbackRecord } from '../../log-store.ts';
import type { LogFilter, LogRange, RequestRecord } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import type { Filter } from '../page-filter.ts';
import { inTransaction, MAJORITY } from '../transaction.ts';
import { type CheckedScope, entryMatch, timesOf } from './entry-filter.ts';
import { type EntryColumns, entryColumns } from './entry-row.ts';
import { keptText, textOfKept } from './kept-text.ts';
import type { LogPlace } from './place.ts';

/** Feedback as it is stored. */
export interface FeedbackRow {
  organisationId: string;
  workspaceId: string;
  id: string;
  traceId: string;
  value: number;
  weight: number;
  /** JSON. */
  metadata: string;
  createdAt: number;
  updatedAt: number;
  apiKeyId: string;
  userId?: string;
  /** The entry's time, its own where there is no entry. */
  at: number;
  entry?: string;
  of?: EntryColumns;
}

export const FEEDBACK = 'log.feedback';

export const FEEDBACK_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  { name: 'one_id', key: { organisationId: 1, id: 1 }, unique: true },
  { name: 'by_trace', key: { organisationId: 1, traceId: 1, createdAt: 1, id: 1 } },
  { name: 'by_time', key: { organisationId: 1, at: 1, id: 1 } },
  { name: 'by_workspace', key: { organisationId: 1, workspaceId: 1, at: 1, id: 1 } },
];

/** Found at once. */
const MOST = 200_000;
/** Traces that a condition on feedback may mean. */
const TRACES = 50_000;
/** Sums of parts do not depend on their order beyond it. */
const EPSILON = 1e-9;

function rowsIn({ database }: LogPlace): mongoose.mongo.Collection<FeedbackRow> {
  return database.collection<FeedbackRow>(FEEDBACK);
}

export function feedbackRow({ entry, metadata, ...record }: FeedbackRecord): FeedbackRow {
  const row: FeedbackRow = {
    organisationId: record.organisationId,
    workspaceId: record.workspaceId,
    id: keptText(record.id),
    traceId: keptText(record.traceId),
    value: record.value,
    weight: record.weight,
    metadata: JSON.stringify(metadata),
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    apiKeyId: record.apiKeyId,
    at: entry?.createdAt ?? record.createdAt,
  };
  if (record.userId !== undefined) row.userId = record.userId;
  if (entry) {
    row.entry = JSON.stringify(entry);
    row.of = entryColumns(entry);
  }
  return row;
}

export function feedbackOfRow({ at: _at, of: _of, entry, metadata, ...row }: FeedbackRow): FeedbackRecord {
  return {
    ...row,
    id: textOfKept(row.id),
    traceId: textOfKept(row.traceId),
    metadata: JSON.parse(metadata) as Record<string, string>,
    ...(entry === undefined ? {} : { entry: JSON.parse(entry) as RequestRecord }),
  };
}

export async function insertFeedback(
  place: LogPlace,
  rows: readonly FeedbackRow[],
  deadline: Deadline,
): Promise<void> {
  const collection = rowsIn(place);
  const copies = rows.map((row) => ({ ...row }));
  if (rows.length === 1) {
    await collection.insertMany(copies, { maxTimeMS: deadline.remaining(), writeConcern: MAJORITY });
    return;
  }
  await inTransaction(place.connection, deadline, (session) => collection.insertMany(copies, { session }));
}

/** Replaces what may change of feedback; false when there is none with its id in the scope. */
export async function changeFeedback(
  place: LogPlace,
  scope: CheckedScope,
  { id, value, weight, metadata, updatedAt }: FeedbackRecord,
  deadline: Deadline,
): Promise<boolean> {
  const change = { value, weight, metadata: JSON.stringify(metadata), updatedAt };
  const { matchedCount } = await rowsIn(place).updateOne(
    { ...inScope(scope), id: keptText(id) },
    { $set: change },
    { maxTimeMS: deadline.remaining(), hint: 'one_id' },
  );
  return matchedCount > 0;
}

export async function readFeedback(
  place: LogPlace,
  scope: CheckedScope,
  id: string,
  deadline: Deadline,
): Promise<FeedbackRecord | undefined> {
  const [row] = await find(place, { ...inScope(scope), id: keptText(id) }, 'one_id', 1, deadline);
  return row && feedbackOfRow(row);
}

/** Of traces, oldest first. */
export async function feedbackOfTraces(
  place: LogPlace,
  scope: CheckedScope,
  traceIds: readonly string[],
  deadline: Deadline,
): Promise<FeedbackRow[]> {
  const filter = { ...inScope(scope), traceId: { $in: [...new Set(traceIds)].map(keptText) } };
  return inOrder(await find(place, filter, 'by_trace', MOST + 1, deadline));
}

/** Feedback whose entry a filter means, oldest first. */
export async function searchFeedback(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  deadline: Deadline,
): Promise<FeedbackRow[]> {
  const { from, until, traceIds, feedback: _, ...others } = filter;
  const times = timesOf(from, until);
  const span: Filter = times === undefined ? {} : { at: times };
  const {
    $and: conditions = [],
    organisationId: _own,
    ...rest
  } = entryMatch(
    { organisationId: scope.organisationId, workspaceId: null },
    { ...others, ...(traceIds === undefined ? {} : { traceIds }) },
    'of.',
  ).filter as Filter & { $and?: Filter[] };
  const meant: Filter[] = [{ 'of.organisationId': { $exists: true }, ...rest }, ...conditions];
  const withEntry: Filter = { $and: meant };
  const alone = Object.keys(others).length === 0 && filter.feedback === undefined;
  const without: Filter = {
    'of.organisationId': { $exists: false },
    ...(traceIds === undefined ? {} : { traceId: { $in: traceIds.map(keptText) } }),
  };
  const index = scope.workspaceId === null ? 'by_time' : 'by_workspace';
  const which = alone ? { $or: [withEntry, without] } : withEntry;
  const rows = await find(place, { ...inScope(scope), ...span, ...which }, index, MOST + 1, deadline);
  if (rows.length > MOST) throw invalidField('until', `means more than ${MOST} pieces of feedback`, 'lte');
  return inOrder(rows);
}

/**
 * The traces of which the mean of value x weight is in a range. @throws validation_failed when they are too many to
 * be a condition on entries.
 */
export async function tracesLiked(
  place: LogPlace,
  organisationId: string,
  { min = -10, max = 10 }: LogRange<number>,
  deadline: Deadline,
): Promise<string[]> {
  const found = await rowsIn(place)
    .aggregate<{ _id: string }>(
      [
        { $match: { organisationId } },
        { $group: { _id: '$traceId', mean: { $avg: { $multiply: ['$value', '$weight'] } } } },
        { $match: { mean: { $gte: min - EPSILON, $lte: max + EPSILON } } },
        { $limit: TRACES + 1 },
        { $project: { _id: 1 } },
      ],
      { hint: 'by_trace', allowDiskUse: true, maxTimeMS: deadline.remaining() },
    )
    .toArray();
  if (found.length > TRACES) throw invalidField('feedback', `means more than ${TRACES} traces`, 'lte');
  return found.map(({ _id }) => textOfKept(_id));
}

function inScope({ organisationId, workspaceId }: CheckedScope): Filter {
  return { organisationId, ...(workspaceId === null ? {} : { workspaceId }) };
}

async function find(
  place: LogPlace,
  filter: Filter,
  hint: string,
  limit: number,
  deadline: Deadline,
): Promise<FeedbackRow[]> {
  return rowsIn(place)
    .find(filter as mongoose.mongo.Filter<FeedbackRow>)
    .project<FeedbackRow>({ _id: 0, of: 0 })
    .hint(hint)
    .limit(limit)
    .maxTimeMS(deadline.remaining())
    .toArray();
}

function inOrder(rows: FeedbackRow[]): FeedbackRow[] {
  return rows.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}
