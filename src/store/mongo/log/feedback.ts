// Feedback: one collection; each document has the members of its trace's entry, so that filters find it.
import type mongoose from 'mongoose';
import type { RequestRecord } from '../../../call/record.ts';
import { invalidField } from '../../../lib/errors.ts';
import { boundsOf } from '../../log/trace-feedback.ts';
import { type FeedbackRecord, SHOWN_FEEDBACK, type TraceFeedback } from '../../log-store.ts';
import type { FeedbackOwner, FeedbackRange, LogFilter } from '../../request-log.ts';
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

/** Traces that a condition on feedback may mean. */
const TRACES = 50_000;
/** Traces whose last feedback is read one by one at once. */
const LANES = 8;

export function rowsIn({ database }: LogPlace): mongoose.mongo.Collection<FeedbackRow> {
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
  const wanted = { ...inScope(scope), id: keptText(id) };
  const [row] = await find(place, wanted, { hint: 'one_id', limit: 1 }, deadline);
  return row && feedbackOfRow(row);
}

/** Of traces, each named once. */
export async function feedbackOfTraces(
  place: LogPlace,
  scope: CheckedScope,
  traceIds: readonly string[],
  own: FeedbackOwner | null,
  deadline: Deadline,
): Promise<ReadonlyMap<string, TraceFeedback>> {
  const mine = { ...inScope(scope), ...ownMatch(own) };
  const totals = await rowsIn(place)
    .aggregate<{ _id: string; count: number; sum: number }>(
      [
        { $match: { ...mine, traceId: { $in: traceIds.map(keptText) } } },
        { $group: { _id: '$traceId', count: { $sum: 1 }, sum: { $sum: MARK } } },
      ],
      { hint: 'by_trace', maxTimeMS: deadline.remaining() },
    )
    .toArray();
  const few = totals.filter(({ count }) => count <= SHOWN_FEEDBACK).map(({ _id }) => _id);
  const whole = few.length === 0 ? [] : await lastOf(place, mine, few, few.length * SHOWN_FEEDBACK, deadline);
  const last = Map.groupBy(whole, ({ traceId }) => traceId);
  const queue = totals.filter(({ count }) => count > SHOWN_FEEDBACK).values();
  const lane = async (): Promise<void> => {
    for (const { _id } of queue) last.set(_id, await lastOf(place, mine, [_id], SHOWN_FEEDBACK, deadline));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return new Map(
    totals.map(({ _id, count, sum }) => {
      // Feedback that arrived after the totals were read may be among them.
      const newest = inOrder(last.get(_id) ?? []).slice(-SHOWN_FEEDBACK);
      return [textOfKept(_id), { count, sum, last: newest.map(feedbackOfRow) }];
    }),
  );
}

/** The newest of some traces together, without their entries. */
function lastOf(
  place: LogPlace,
  mine: Filter,
  kept: readonly string[],
  limit: number,
  deadline: Deadline,
): Promise<FeedbackRow[]> {
  const wanted = { ...mine, traceId: { $in: kept } };
  // Of one trace they are in the index's order.
  const sort = { createdAt: -1, id: -1 } as const;
  const reading: Reading = {
    hint: 'by_trace',
    limit,
    without: { entry: 0 },
    ...(kept.length === 1 ? { sort } : {}),
  };
  return find(place, wanted, reading, deadline);
}

/** Which feedback's entry a filter means, and the index that leads to it. */
export async function feedbackMatch(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  deadline: Deadline,
): Promise<{ readonly match: Filter; readonly hint: string }> {
  const { from, until, traceIds, feedback, ...others } = filter;
  const times = timesOf(from, until);
  const span: Filter = times === undefined ? {} : { at: times };
  const liked = feedback && (await tracesLiked(place, scope, feedback, deadline));
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
  if (liked !== undefined) meant.push({ traceId: { $in: liked.map(keptText) } });
  const withEntry: Filter = { $and: meant };
  const alone = Object.keys(others).length === 0 && liked === undefined;
  const without: Filter = {
    'of.organisationId': { $exists: false },
    ...(traceIds === undefined ? {} : { traceId: { $in: traceIds.map(keptText) } }),
  };
  const hint = scope.workspaceId === null ? 'by_time' : 'by_workspace';
  const which = alone ? { $or: [withEntry, without] } : withEntry;
  return { match: { ...inScope(scope), ...span, ...which }, hint };
}

/**
 * The traces of which the mean of value x weight is in a range. @throws validation_failed when they are too many to
 * be a condition on entries.
 */
export async function tracesLiked(
  place: LogPlace,
  scope: CheckedScope,
  range: FeedbackRange,
  deadline: Deadline,
): Promise<string[]> {
  const [$gte, $lte] = boundsOf(range);
  const found = await rowsIn(place)
    .aggregate<{ _id: string }>(
      [
        { $match: { ...inScope(scope), ...ownMatch(range.own ?? null) } },
        { $group: { _id: '$traceId', mean: { $avg: MARK } } },
        { $match: { mean: { $gte, $lte } } },
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

/** What a piece of feedback counts. */
export const MARK = { $multiply: ['$value', '$weight'] };

/** The condition on whose feedback counts; empty when all feedback counts. */
function ownMatch(own: FeedbackOwner | null): Filter {
  if (own === null) return {};
  const [member, value] =
    own.userId === undefined ? ['apiKeyId', own.apiKeyId ?? ''] : ['userId', own.userId];
  return { $or: [{ [member]: value }, { [`of.${member}`]: keptText(value) }] };
}

interface Reading {
  readonly hint: string;
  readonly limit: number;
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  /** Members that are not read. */
  readonly without?: Readonly<Record<string, 0>>;
}

async function find(
  place: LogPlace,
  filter: Filter,
  { hint, limit, sort = {}, without = {} }: Reading,
  deadline: Deadline,
): Promise<FeedbackRow[]> {
  return rowsIn(place)
    .find(filter as mongoose.mongo.Filter<FeedbackRow>)
    .project<FeedbackRow>({ _id: 0, of: 0, ...without })
    .sort(sort)
    .hint(hint)
    .limit(limit)
    .maxTimeMS(deadline.remaining())
    .toArray();
}

function inOrder(rows: FeedbackRow[]): FeedbackRow[] {
  return rows.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}
