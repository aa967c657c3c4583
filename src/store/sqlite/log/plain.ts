// The books by reading all of an organisation's entries.
import { invalidField } from '../../../lib/errors.ts';
import { checkScope } from '../../document-checks.ts';
import type { LogAggregate, LogAggregateRow, LogAggregation } from '../../log/aggregation.ts';
import { checkAggregation } from '../../log/aggregation-checks.ts';
import { decodeEntry } from '../../log/entry-text.ts';
import { dimensionOf, matchesLog } from '../../log/matches.ts';
import { addEntry, emptySums } from '../../log/sums.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { BodiesRecord, LogStore } from '../../log-store.ts';
import { checkPageSize, checkSkip } from '../../page-query.ts';
import type { LogFilter, RequestRecord, TenantScope } from '../../request-log.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { FeedbackStore } from './feedback.ts';
import type { LogReaderCall } from './protocol.ts';

type Parts = Omit<LogStore, 'append' | keyof FeedbackStore>;

export function plainLog(reader: WorkerClient<LogReaderCall>, feedback: FeedbackStore): Parts {
  const bodies = new Map<string, BodiesRecord>();
  const inside = (scope: TenantScope, record: { organisationId: string; workspaceId: string }): boolean =>
    record.organisationId === scope.organisationId &&
    (scope.workspaceId === undefined || record.workspaceId === scope.workspaceId);

  async function all(): Promise<RequestRecord[]> {
    const entries: RequestRecord[] = [];
    for (let after = 0; ; ) {
      const rows = await reader.call<[number, string][]>({
        ...{ kind: 'scan', after, limit: 1000, characters: 8e6 },
      });
      for (const [, text] of rows) entries.push(decodeEntry(text));
      const last = rows.at(-1);
      if (last === undefined) return entries;
      after = last[0];
    }
  }

  async function find(scope: TenantScope, filter: LogFilter): Promise<RequestRecord[]> {
    checkScope(scope);
    const { feedback: range, ...rest } = checkLogFilter(filter);
    const found = (await all()).filter((entry) => inside(scope, entry) && matchesLog(rest, entry));
    if (range === undefined) return found;
    const marks = new Map<string, number[]>();
    const traces = [...new Set(found.map(({ traceId }) => traceId))];
    for (let i = 0; i < traces.length; i += 1000) {
      const organisation = { organisationId: scope.organisationId, workspaceId: undefined };
      for (const one of await feedback.feedbackOf(organisation, traces.slice(i, i + 1000))) {
        marks.set(one.traceId, [...(marks.get(one.traceId) ?? []), one.value * one.weight]);
      }
    }
    return found.filter(({ traceId }) => {
      const own = marks.get(traceId) ?? [];
      const mean = own.reduce((sum, mark) => sum + mark, 0) / own.length;
      return own.length > 0 && mean >= (range.min ?? -10) && mean <= (range.max ?? 10);
    });
  }

  return {
    page: async (scope, filter, { page, pageSize, order, after, count }) => {
      if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
      const take = checkPageSize(pageSize);
      if (after !== undefined && !/^\d{1,15}$/.test(after))
        throw invalidField('after', 'is no cursor', 'cursor');
      const skip = after === undefined ? checkSkip(page, take) : Number(after);
      const found = (await find(scope, filter)).sort((a, b) => a.createdAt - b.createdAt);
      if (order === 'desc') found.reverse();
      return {
        total: count === false ? 0 : Math.min(found.length, 10_000),
        totalCapped: count !== false && found.length > 10_000,
        entries: found.slice(skip, skip + take),
        ...(skip + take < found.length ? { next: String(skip + take) } : {}),
      };
    },
    get: async (scope, id) => (await all()).find((entry) => entry.id === id && inside(scope, entry)),
    aggregate: async (scope, filter, aggregation) =>
      aggregated(await find(scope, filter), checkAggregation(aggregation)),
    appendBodies: async (batch) => {
      for (const one of batch) {
        const key = JSON.stringify([one.organisationId, one.createdAt, one.id]);
        if (!bodies.has(key)) bodies.set(key, structuredClone(one));
      }
    },
    bodies: async (scope, id, createdAt) => {
      const found = bodies.get(JSON.stringify([scope.organisationId, createdAt, id]));
      return found && inside(scope, found) ? found : undefined;
    },
    reprice: async () => 0,
    expire: async () => [],
  };
}

function aggregated(entries: readonly RequestRecord[], aggregation: LogAggregation): LogAggregate {
  const { bucketMs, by = [], unique, order, skip = 0, take } = aggregation;
  const rows = new Map<string, LogAggregateRow & { values: Set<string> }>();
  const distinct = new Set<string>();
  for (const entry of entries) {
    const group = by.map((dimension) => dimensionOf(dimension, entry));
    if (group.includes(undefined)) continue;
    const bucket = bucketMs === undefined ? 0 : Math.floor(entry.createdAt / bucketMs) * bucketMs;
    const key = JSON.stringify([bucket, group]);
    const row = rows.get(key) ?? { bucket, group: group as string[], sums: emptySums(), values: new Set() };
    rows.set(key, row);
    addEntry(row.sums, entry);
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
  const key = (row: LogAggregateRow): string => row.group.join('\0');
  const byGroup = (a: LogAggregateRow, b: LogAggregateRow): number =>
    key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
  all.sort((a, b) => {
    if (bucketMs !== undefined) return a.bucket - b.bucket || byGroup(a, b);
    if (measure === 'group') return sign * byGroup(a, b);
    const [x, y] = [a.sums[measure], b.sums[measure]];
    return x < y ? -sign : x > y ? sign : byGroup(a, b);
  });
  return {
    rows: bucketMs === undefined ? all.slice(skip, take === undefined ? undefined : skip + take) : all,
    groups: new Set(all.map(({ group }) => JSON.stringify(group))).size,
    ...(unique === undefined ? {} : { unique: distinct.size }),
    source: 'entries',
  };
}
