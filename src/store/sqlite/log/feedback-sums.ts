// Feedback summed up by the log's reading worker.
import { dimensionOf, matchesLog } from '../../log/matches.ts';
import { TOO_MUCH } from '../../log/trace-feedback.ts';
import type { FeedbackGrouping, FeedbackRecord, FeedbackTotals } from '../../log-store.ts';
import type { LogFilter } from '../../request-log.ts';
import type { StatementCache } from '../statement-cache.ts';
import { FailureError } from '../worker-loop.ts';
import { type FeedbackReader, MINE } from './feedback-reads.ts';
import type { LogScope } from './selection.ts';

/** Pieces that are looked at for one answer, and groups of it. */
const LOOKED_AT = 1_000_000;
const GROUPS = 100_000;

type Row = [time: number, mark: number, traceId: string, value: number | null, record: string | null];

interface Group {
  count: number;
  sum: number;
  readonly traces: Set<string>;
}

export function sumFeedback(
  cached: StatementCache,
  liked: FeedbackReader['liked'],
  scope: LogScope,
  filter: LogFilter,
  by: FeedbackGrouping,
): FeedbackTotals[] {
  const { feedback: range, ...rest } = filter;
  const { from = 0, until = Number.MAX_SAFE_INTEGER, ...others } = rest;
  const traces = range && liked(scope, range);
  // What is asked of time alone is answered without the entry.
  const reads = traces !== undefined || Object.keys(others).length > 0 || by === 'model' || isMetadata(by);
  const value = by === 'value' ? "json_extract(record, '$.value')" : 'NULL';
  const rows = cached(`SELECT time, mark, trace_id, ${value}, ${reads ? 'record' : 'NULL'}
    FROM log_feedback INDEXED BY log_feedback_by_time WHERE ${MINE} AND time >= ? AND time < ?`).iterate(
    ...[scope.org, scope.workspace, from, until],
  ) as unknown as Iterable<Row>;
  const groups = new Map<string, Group>();
  let seen = 0;
  for (const row of rows) {
    if (++seen > LOOKED_AT) throw tooMuch();
    if (traces && !traces.has(row[2])) continue;
    const record = row[4] === null ? undefined : (JSON.parse(row[4]) as FeedbackRecord);
    if (record && !meant(rest, traces !== undefined, record)) continue;
    const group = groupOf(by, row, record);
    if (group !== undefined) add(groups, group, row);
  }
  return [...groups].map(([group, { count, sum, traces: of }]) => ({ group, count, sum, traces: of.size }));
}

function add(groups: Map<string, Group>, name: string, [, mark, traceId]: Row): void {
  let group = groups.get(name);
  if (group === undefined) {
    if (groups.size === GROUPS) throw tooMuch();
    group = { count: 0, sum: 0, traces: new Set() };
    groups.set(name, group);
  }
  group.count++;
  group.sum += mark;
  group.traces.add(traceId);
}

/** Undefined: it is in no group. */
function groupOf(
  by: FeedbackGrouping,
  [time, , , value]: Row,
  record: FeedbackRecord | undefined,
): string | undefined {
  if (by === 'value') return String(value);
  if (by === 'model') return record?.entry?.model ?? '';
  if (isMetadata(by)) return record?.entry && dimensionOf(by, record.entry);
  return String(time - (time % by.bucketMs));
}

function isMetadata(by: FeedbackGrouping): by is { readonly metadata: string } {
  return typeof by === 'object' && 'metadata' in by;
}

/** Whether a filter matches the feedback's entry; without an entry, only filters of time and trace can match. */
function meant(filter: LogFilter, ranged: boolean, { entry, traceId }: FeedbackRecord): boolean {
  if (entry !== undefined) return matchesLog(filter, entry);
  const { from, until, traceIds, ...others } = filter;
  if (ranged || Object.keys(others).length > 0) return false;
  return traceIds === undefined || traceIds.includes(traceId);
}

function tooMuch(): FailureError {
  return new FailureError({
    reason: 'validation_failed',
    message: `until: ${TOO_MUCH}`,
    violations: [{ field: 'until', rule: 'too_many', message: TOO_MUCH }],
  });
}
