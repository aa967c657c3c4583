// The books of requests in plain arrays: slow and plainly right, what stores are compared with.

import type { RequestRecord } from '../../src/call/record.ts';
import type { TenantScope } from '../../src/call/scope.ts';
import { invalidField } from '../../src/lib/errors.ts';
import type { LogAggregate, LogAggregateRow, LogAggregation } from '../../src/store/log/aggregation.ts';
import { readWritten } from '../../src/store/log/entry-text.ts';
import { dimensionOf, matchesLog } from '../../src/store/log/matches.ts';
import { emptyRollup } from '../../src/store/log/rollups.ts';
import { boundsOf } from '../../src/store/log/trace-feedback.ts';
import type {
  BodiesRecord,
  FeedbackGrouping,
  FeedbackRecord,
  LogStore,
  TraceFeedback,
} from '../../src/store/log-store.ts';
import type { FeedbackOwner, FeedbackRange, LogFilter } from '../../src/store/request-log.ts';
import { addEntry, isOwnFeedback, traceFeedback } from './log-sums.ts';
import { plainFacets } from './plain-facets.ts';

interface Owned {
  readonly organisationId: string;
  readonly workspaceId: string;
}

const DAY_MS = 86_400_000;

/** A store that forgets everything with its process. */
export function logModel(): LogStore {
  let entries: RequestRecord[] = [];
  let bodies: BodiesRecord[] = [];
  const feedback: FeedbackRecord[] = [];
  const inside =
    ({ organisationId, workspaceId }: TenantScope) =>
    (record: Owned): boolean =>
      record.organisationId === organisationId &&
      (workspaceId === undefined || record.workspaceId === workspaceId);

  function find(scope: TenantScope, filter: LogFilter): RequestRecord[] {
    const { feedback: range, ...rest } = filter;
    return entries.filter(
      (entry) =>
        inside(scope)(entry) &&
        matchesLog(rest, entry) &&
        (range === undefined || liked(scope, entry.traceId, range)),
    );
  }

  function ofTrace(scope: TenantScope, traceId: string, own: FeedbackOwner | undefined): TraceFeedback {
    const all = feedback.filter((one) => inside(scope)(one) && one.traceId === traceId);
    return traceFeedback(own === undefined ? all : all.filter((one) => isOwnFeedback(own, one)));
  }

  function liked(scope: TenantScope, traceId: string, range: FeedbackRange): boolean {
    const { count, sum } = ofTrace(scope, traceId, range.own);
    const [least, most] = boundsOf(range);
    return count > 0 && sum / count >= least && sum / count <= most;
  }

  return {
    append: async (batch) => {
      for (const written of batch) {
        const entry = readWritten(written);
        const known = entries.some(
          ({ id, organisationId, createdAt }) =>
            id === entry.id && organisationId === entry.organisationId && createdAt === entry.createdAt,
        );
        if (!known) entries.push(structuredClone(entry));
      }
    },
    page: async (scope, filter, { page, pageSize, order, after, count }) => {
      const all = find(scope, filter).sort((a, b) => a.createdAt - b.createdAt);
      if (order === 'desc') all.reverse();
      const skip = after === undefined ? page * pageSize : Number(after);
      if (!Number.isSafeInteger(skip)) throw invalidField('after', 'is no cursor');
      return {
        total: count === false ? 0 : Math.min(all.length, 10_000),
        totalCapped: count !== false && all.length > 10_000,
        entries: all.slice(skip, skip + pageSize),
        ...(skip + pageSize < all.length ? { next: String(skip + pageSize) } : {}),
      };
    },
    get: async (scope, id) => entries.find((entry) => entry.id === id && inside(scope)(entry)),
    aggregate: async (scope, filter, aggregation) => aggregate(find(scope, filter), aggregation),
    facets: async (scope, filter, question) => plainFacets(find(scope, filter), question),
    appendBodies: async (batch) => {
      for (const one of batch) if (!bodies.some(({ id }) => id === one.id)) bodies.push(structuredClone(one));
    },
    bodies: async (scope, id) => bodies.find((one) => one.id === id && inside(scope)(one)),
    addFeedback: async (batch) => {
      feedback.push(...structuredClone([...batch]));
    },
    getFeedback: async (scope, id) => feedback.find((one) => one.id === id && inside(scope)(one)),
    updateFeedback: async (scope, changed) => {
      const at = feedback.findIndex((one) => one.id === changed.id && inside(scope)(one));
      const found = feedback[at];
      if (found === undefined) return false;
      const { value, weight, metadata, updatedAt } = changed;
      feedback[at] = { ...found, value, weight, metadata, updatedAt };
      return true;
    },
    feedbackOf: async (scope, traceIds, own) =>
      new Map(
        traceIds
          .map((traceId) => [traceId, ofTrace(scope, traceId, own)] as const)
          .filter(([, { count }]) => count > 0),
      ),
    sumFeedback: async (scope, { feedback: range, ...filter }, by) => {
      const found = feedback
        .filter((one) => inside(scope)(one) && meant(filter, range !== undefined, one))
        .filter(({ traceId }) => range === undefined || liked(scope, traceId, range));
      const groups = Map.groupBy(found, (one) => groupOf(by, one));
      groups.delete(undefined);
      return [...groups].map(([group = '', of]) => ({
        group,
        count: of.length,
        sum: traceFeedback(of).sum,
        traces: new Set(of.map(({ traceId }) => traceId)).size,
      }));
    },
    reprice: async (organisationId, corrections) => {
      let count = 0;
      for (const { id, createdAt, cost, attempts } of corrections) {
        const at = entries.findIndex(
          (one) => one.id === id && one.createdAt === createdAt && one.organisationId === organisationId,
        );
        const found = entries[at];
        if (found === undefined) continue;
        const own = found.attempts.map((attempt, i) => priced(attempt, attempts[i]));
        const { unpriced: _, ...entry } = priced({ ...found, attempts: own }, cost);
        entries[at] = own.some(({ unpriced }) => unpriced) ? { ...entry, unpriced: true } : entry;
        count++;
      }
      return count;
    },
    expire: async ({ logDays, bodyDays }, now) => {
      const kept =
        (days: number) =>
        ({ createdAt, keepDays }: { readonly createdAt: number; readonly keepDays?: number }): boolean =>
          Math.floor(createdAt / DAY_MS) + 1 + Math.min(days, keepDays ?? days) > now / DAY_MS;
      entries = entries.filter(kept(logDays));
      bodies = bodies.filter(kept(bodyDays));
      return [];
    },
  };
}

function groupOf(by: FeedbackGrouping, { entry, createdAt, value }: FeedbackRecord): string | undefined {
  if (by === 'value') return String(value);
  if (by === 'model') return entry?.model ?? '';
  if ('metadata' in by) return entry && dimensionOf(by, entry);
  return String(Math.floor((entry?.createdAt ?? createdAt) / by.bucketMs) * by.bucketMs);
}

function priced<T extends { readonly cost?: string; readonly unpriced?: true }>(
  of: T,
  cost: string | undefined,
): T {
  const { cost: _, ...rest } = of;
  if (cost === undefined) return rest as T;
  const { unpriced: __, ...known } = rest;
  return { ...known, cost } as T;
}

function meant(filter: LogFilter, ranged: boolean, { entry, traceId, createdAt }: FeedbackRecord): boolean {
  if (entry !== undefined) return matchesLog(filter, entry);
  if (ranged) return false;
  const { from = 0, until = Number.MAX_SAFE_INTEGER, traceIds, ...others } = filter;
  return (
    createdAt >= from &&
    createdAt < until &&
    (traceIds === undefined || traceIds.includes(traceId)) &&
    Object.keys(others).length === 0
  );
}

/** Adds entries up one by one. */
export function aggregate(entries: readonly RequestRecord[], aggregation: LogAggregation): LogAggregate {
  const { bucketMs, by = [], unique, order, skip = 0, take } = aggregation;
  const rows = new Map<string, LogAggregateRow & { values: Set<string> }>();
  const distinct = new Set<string>();
  for (const entry of entries) {
    const group = by.map((dimension) => dimensionOf(dimension, entry));
    if (group.includes(undefined)) continue;
    const bucket = bucketMs === undefined ? 0 : Math.floor(entry.createdAt / bucketMs) * bucketMs;
    const key = JSON.stringify([bucket, group]);
    const row = rows.get(key) ?? {
      bucket,
      group: group as string[],
      rollup: emptyRollup(aggregation.firstTokens),
      values: new Set(),
    };
    rows.set(key, row);
    addEntry(row.rollup, entry);
    const value = unique === undefined ? undefined : dimensionOf(unique, entry);
    if (value === undefined || value === '') continue;
    row.values.add(value);
    distinct.add(value);
  }
  const all = [...rows.values()].map(({ values, ...row }) =>
    unique === undefined ? row : { ...row, unique: values.size },
  );
  const { measure, direction } = order ?? { measure: 'requests', direction: 'desc' };
  const sign = direction === 'asc' ? 1 : -1;
  const byGroup = (a: LogAggregateRow, b: LogAggregateRow): number =>
    a.group.join('\0') < b.group.join('\0') ? -1 : a.group.join('\0') > b.group.join('\0') ? 1 : 0;
  all.sort((a, b) => {
    if (bucketMs !== undefined) return a.bucket - b.bucket || byGroup(a, b);
    if (measure === 'group') return sign * byGroup(a, b);
    const [x, y] = [a.rollup[measure], b.rollup[measure]];
    return x < y ? -sign : x > y ? sign : byGroup(a, b);
  });
  return {
    rows: bucketMs === undefined ? all.slice(skip, take === undefined ? undefined : skip + take) : all,
    groups: new Set(all.map(({ group }) => JSON.stringify(group))).size,
    ...(unique === undefined ? {} : { unique: distinct.size }),
    source: 'entries',
  };
}
