// The books of requests over MongoDB: checks first, then what log/ does.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import { checkInteger, checkName, checkScope } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import type { LogAggregate, LogAggregation } from '../log/aggregation.ts';
import { checkAggregation } from '../log/aggregation-checks.ts';
import { decodeEntry } from '../log/entry-text.ts';
import { checkFacets, type LogFacets, type LogFacetsQuestion } from '../log/facets.ts';
import { GroupTable } from '../log/group-table.ts';
import { checkGrouping, checkOwn, checkTraces } from '../log/trace-feedback.ts';
import { checkLogFilter } from '../log-filter.ts';
import type { LogStore } from '../log-store.ts';
import { checkPageSize, checkSkip } from '../page-query.ts';
import type { BodySearch, LogFilter, LogPage, LogPageRequest } from '../request-log.ts';
import type { Calls, Deadline } from './calls.ts';
import { isIndexMissing } from './failures.ts';
import { addEntries, spanOf } from './log/aggregate.ts';
import { bodiesByBucket, findBodies } from './log/bodies.ts';
import { BodyMatcher } from './log/body-matcher.ts';
import { searchPage } from './log/body-search.ts';
import type { Bucket } from './log/bucket-name.ts';
import { Buckets } from './log/buckets.ts';
import { appendApart, appendRows, prepareEntries, rowsByBucket } from './log/entry-appends.ts';
import { type CheckedScope, entryMatch } from './log/entry-filter.ts';
import { findEntry } from './log/entry-look-ups.ts';
import { countEntries, type FoundPage, type PageQuery, readEntries } from './log/entry-pages.ts';
import { dropBuckets } from './log/expire.ts';
import { FACETS_MS, readFacets } from './log/facets.ts';
import {
  changeFeedback,
  feedbackOfTraces,
  feedbackRow,
  insertFeedback,
  readFeedback,
  tracesLiked,
} from './log/feedback.ts';
import { sumFeedback } from './log/feedback-sums.ts';
import { decodePosition, encodePosition } from './log/page-cursor.ts';
import type { LogPlace } from './log/place.ts';
import { correctionsByBucket, repriceBucket } from './log/reprice.ts';
import type { Roller } from './log/roller.ts';
import { addKept } from './log/rollup-reads.ts';
import { rollupQuery } from './log/rollups.ts';
import { skipEntries } from './log/skip.ts';

/** Entries parsed between two turns of the event loop: about a millisecond's work. */
const SLICE = 200;
/** Adding entries up may take longer than other calls; each command of it has the time of one. */
const SUMS_MS = 30_000;

/** Newest entries that names of metadata are taken from. */
const NAMED = 500;

/** See `LogPlace`. */
export type LogTuning = Partial<Pick<LogPlace, 'lateMs' | 'settleMs' | 'piece'>>;

/** @param answerMs how long the connection waits for an answer. */
export function logPlace(
  connection: mongoose.Connection,
  calls: Calls,
  answerMs: number,
  { lateMs = 5 * 60_000, settleMs = 5 * 60_000, piece = 10_000 }: LogTuning = {},
): LogPlace {
  const database = connection.getClient().db(connection.name);
  const commandMs = Math.ceil(answerMs * 0.9);
  return {
    connection,
    database,
    buckets: new Buckets(database),
    calls,
    matcher: new BodyMatcher(),
    commandMs,
    lateMs,
    settleMs,
    piece,
  };
}

export function mongoRequestLog(place: LogPlace, roller: Roller): LogStore {
  return { ...entryCalls(place, roller), ...countingCalls(place), ...feedbackCalls(place) };
}

type FeedbackCalls = Pick<
  LogStore,
  'addFeedback' | 'getFeedback' | 'updateFeedback' | 'feedbackOf' | 'sumFeedback'
>;

type CountingCalls = Pick<LogStore, 'aggregate' | 'facets'>;

function entryCalls(
  place: LogPlace,
  roller: Roller,
): Omit<LogStore, keyof FeedbackCalls | keyof CountingCalls> {
  const { buckets, calls } = place;
  return {
    append: async (batch, texts, { apart = false } = {}) => {
      if (batch.length === 0) return;
      const rows = await rowsByBucket(batch, texts);
      await calls.run(async (deadline) => {
        await prepareEntries(place, rows, deadline);
        await (apart ? appendApart : appendRows)(place, rows, deadline);
      });
    },

    page: async (scope, filter, request) => {
      const query = checkPage(scope, filter, request);
      const { bodies } = request;
      return reading(place, (deadline) => readPage(place, query, bodies, deadline));
    },

    get: async (scope, id, createdAt) => {
      const checked = checkScope(scope);
      if (createdAt !== undefined) checkInteger('createdAt', createdAt, 0);
      const text = await reading(place, (deadline) =>
        findEntry(place, checked, checkName('id', id), createdAt, deadline),
      );
      return text === undefined ? undefined : decodeEntry(text);
    },

    appendBodies: async (batch) => {
      if (batch.length === 0) return;
      const rows = await bodiesByBucket(batch);
      await calls.run(async (deadline) => {
        for (const { name } of rows) await buckets.ensure('bodies', name, deadline);
        await appendRows(place, rows, deadline);
      });
    },

    bodies: async (scope, id, createdAt) => {
      const checked = checkScope(scope);
      checkInteger('createdAt', createdAt, 0);
      return reading(place, (deadline) =>
        findBodies(place, checked, checkName('id', id), createdAt, deadline),
      );
    },

    reprice: async (organisationId, corrections) => {
      checkName('organisationId', organisationId);
      if (corrections.length === 0) return 0;
      const times = corrections.map(({ createdAt }) => checkInteger('createdAt', createdAt, 0));
      const span = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b)) + 1];
      const all = await calls.run((deadline) => buckets.list('entries', deadline, ...span));
      let count = 0;
      for (const own of correctionsByBucket(all, corrections)) {
        count += await calls.run((deadline) => repriceBucket(place, organisationId, own, deadline));
      }
      return count;
    },

    expire: (retention, now) => dropBuckets(place, roller, retention, now),
  };
}

function countingCalls(place: LogPlace): CountingCalls {
  return {
    aggregate: async (scope, filter, aggregation) => {
      const checkedScope = checkScope(scope);
      const checkedFilter = checkLogFilter(filter);
      const checked = checkAggregation(aggregation);
      return reading(
        place,
        (deadline) => sumUp(place, checkedScope, checkedFilter, checked, deadline),
        SUMS_MS,
      );
    },

    facets: async (scope, filter, question) => {
      const checkedScope = checkScope(scope);
      const checkedFilter = checkLogFilter(filter);
      const checked = checkFacets(question);
      return reading(
        place,
        (deadline) => facetsOf(place, checkedScope, checkedFilter, checked, deadline),
        FACETS_MS,
      );
    },
  };
}

function feedbackCalls(place: LogPlace): FeedbackCalls {
  const { calls } = place;
  return {
    addFeedback: async (batch) => {
      if (batch.length === 0) return;
      const rows = batch.map(feedbackRow);
      await calls.run((deadline) => insertFeedback(place, rows, deadline));
    },

    getFeedback: async (scope, id) => {
      const checked = checkScope(scope);
      return calls.run((deadline) => readFeedback(place, checked, checkName('id', id), deadline));
    },

    updateFeedback: async (scope, feedback) => {
      const checked = checkScope(scope);
      checkName('id', feedback.id);
      return calls.run((deadline) => changeFeedback(place, checked, feedback, deadline));
    },

    feedbackOf: async (scope, traceIds, own) => {
      const checked = checkScope(scope);
      const traces = checkTraces(traceIds);
      const owner = checkOwn(own);
      if (traces.length === 0) return new Map();
      return calls.run((deadline) => feedbackOfTraces(place, checked, traces, owner, deadline));
    },

    sumFeedback: async (scope, filter, by) => {
      const checked = checkScope(scope);
      const [meant, grouping] = [checkLogFilter(filter), checkGrouping(by)];
      return calls.run((deadline) => sumFeedback(place, checked, meant, grouping, deadline), SUMS_MS);
    },
  };
}

function checkPage(scope: TenantScope, filter: LogFilter, request: LogPageRequest): PageQuery {
  const { order, after, count } = request;
  const checked = checkScope(scope);
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
  const take = checkPageSize(request.pageSize);
  return {
    ...checked,
    filter: checkLogFilter(filter),
    order,
    take,
    skip: after === undefined ? checkSkip(request.page, take) : 0,
    after: after === undefined ? undefined : decodePosition(after, order),
    count: count !== false,
  };
}

async function readPage(
  place: LogPlace,
  asked: PageQuery,
  bodies: BodySearch | undefined,
  deadline: Deadline,
): Promise<LogPage> {
  const filter = await withLiked(place, asked, asked.filter, deadline);
  const query: PageQuery = { ...asked, filter };
  const { order } = query;
  const searched = bodies && (await searchPage(place, query, bodies, deadline));
  if (searched) return searched;
  const all = await place.buckets.list('entries', deadline, filter.from, filter.until);
  const counted = query.count
    ? countEntries(place, query, all, LIMITS.total, deadline)
    : Promise.resolve({ count: 0, whole: true });
  const reading = readFrom(place, query, all, deadline);
  const [{ count, whole }, found] = await Promise.all([counted, reading]);
  const entries = await parsed(found.entries, ({ entry }) => decodeEntry(entry));
  return {
    total: Math.min(query.count ? Math.max(count, entries.length) : 0, LIMITS.total),
    totalCapped: query.count && (count > LIMITS.total || !whole),
    entries,
    ...(found.next === undefined ? {} : { next: encodePosition(found.next, order) }),
    // Only a search that was given up has more behind a page that is not full.
    ...(found.next === undefined || filter.text === undefined || entries.length === query.take
      ? {}
      : { searchedTo: found.next.createdAt }),
  };
}

async function readFrom(
  place: LogPlace,
  query: PageQuery,
  all: readonly Bucket[],
  deadline: Deadline,
): Promise<FoundPage> {
  const after = query.skip === 0 ? query.after : await skipEntries(place, query, all, deadline);
  if (after === undefined) {
    return query.skip === 0 ? readEntries(place, query, all, deadline) : { entries: [], next: undefined };
  }
  return readEntries(place, { ...query, after }, all, deadline);
}

/** Aggregates from roll-ups where they answer, and from entries where they do not. */
async function sumUp(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  aggregation: LogAggregation,
  deadline: Deadline,
): Promise<LogAggregate> {
  const { from = 0, until = Number.MAX_SAFE_INTEGER } = filter;
  const table = new GroupTable(aggregation);
  const query = rollupQuery(scope, filter, aggregation);
  const all = await place.buckets.list('entries', deadline, from, until);
  const kept = query && (await addKept(place, scope, filter, query, all, table, deadline));
  const spans = kept?.spans ?? all.map((bucket) => spanOf(bucket, from, until));
  const match = entryMatch(scope, await withLiked(place, scope, filter, deadline));
  await addEntries(place, { match, aggregation, table }, spans, deadline);
  return table.result(kept?.used ? 'rollups' : 'entries');
}

async function facetsOf(
  place: LogPlace,
  scope: CheckedScope,
  asked: LogFilter,
  question: LogFacetsQuestion,
  deadline: Deadline,
): Promise<LogFacets> {
  const filter = await withLiked(place, scope, asked, deadline);
  return readFacets(
    place,
    scope,
    filter,
    question,
    {
      aggregate: (aggregation, within) => sumUp(place, scope, filter, aggregation, within),
      metadataNames: async (most, within) => {
        const query = { ...scope, filter, order: 'desc', skip: 0, take: NAMED, after: undefined } as const;
        const all = await place.buckets.list('entries', within, filter.from, filter.until);
        const { entries } = await readFrom(place, { ...query, count: false }, all, within);
        const read = await parsed(entries, ({ entry }) => decodeEntry(entry));
        return [...new Set(read.flatMap(({ metadata }) => Object.keys(metadata)))].slice(0, most).sort();
      },
    },
    deadline,
  );
}

/** Reads, and once more when a bucket turns out to have been made without its indexes. */
async function reading<T>(
  { calls, buckets }: LogPlace,
  work: (deadline: Deadline) => Promise<T>,
  ms?: number,
): Promise<T> {
  return calls.run(async (deadline) => {
    try {
      return await work(deadline);
    } catch (error) {
      if (!isIndexMissing(error)) throw error;
      await buckets.repair(deadline);
      return work(deadline);
    }
  }, ms);
}

/** A condition on feedback as one on traces. */
async function withLiked(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  deadline: Deadline,
): Promise<LogFilter> {
  const { feedback, ...rest } = filter;
  if (feedback === undefined) return filter;
  const liked = await tracesLiked(place, scope, feedback, deadline);
  const own = new Set(filter.traceIds ?? liked);
  return { ...rest, traceIds: liked.filter((traceId) => own.has(traceId)) };
}

/** Gives way to other work in between. */
async function parsed<Row, T>(rows: readonly Row[], parse: (row: Row) => T): Promise<T[]> {
  const all: T[] = [];
  for (const [index, row] of rows.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    all.push(parse(row));
  }
  return all;
}
