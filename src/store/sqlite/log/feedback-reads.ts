// Feedback as readers find it. Records cross as JSON text.
import { matchesLog } from '../../log/matches.ts';
import { boundsOf } from '../../log/trace-feedback.ts';
import { type FeedbackRecord, SHOWN_FEEDBACK } from '../../log-store.ts';
import type { FeedbackOwner, FeedbackRange, LogFilter } from '../../request-log.ts';
import type { StatementCache } from '../statement-cache.ts';
import { FailureError } from '../worker-loop.ts';
import type { LogScope } from './selection.ts';

/** Records of one answer. */
const FOUND = 200_000;

/** What a trace's feedback comes to; `last` newest first. */
export type TraceFeedbackRow = [traceId: string, count: number, sum: number, last: string[]];

export interface FeedbackReader {
  get(org: string, workspace: string | null, id: string): string | null;
  /** @param traceIds each once */
  of(scope: LogScope, traceIds: readonly string[], own: FeedbackOwner | null): TraceFeedbackRow[];
  find(scope: LogScope, filter: LogFilter): string[];
  /** Traces whose mean of value x weight is in the range. */
  liked(scope: LogScope, range: FeedbackRange): Set<string>;
  scan(after: number, limit: number, characters: number): [seq: number, record: string][];
}

type Rows<T> = Iterable<T>;
type Found = [createdAt: number, id: string, traceId: string, record: string];

const MINE = 'organisation_id = ? AND workspace_id = coalesce(?, workspace_id)';

export function feedbackReader(cached: StatementCache): FeedbackReader {
  const liked: FeedbackReader['liked'] = ({ org, workspace }, range) => {
    const { sql, values } = ownSql(range.own ?? null);
    const found = cached(`SELECT trace_id FROM log_feedback INDEXED BY log_feedback_of_trace
      WHERE ${MINE}${sql} GROUP BY trace_id HAVING sum(mark) / count(*) BETWEEN ? AND ?`).iterate(
      ...[org, workspace, ...values, ...boundsOf(range)],
    ) as unknown as Rows<[string]>;
    const traces = new Set<string>();
    for (const [traceId] of found) traces.add(traceId);
    return traces;
  };

  return {
    liked,
    get: (org, workspace, id) => {
      const sql = `SELECT record FROM log_feedback WHERE ${MINE} AND id = ?`;
      const found = cached(sql).get(org, workspace, id) as unknown as [string] | undefined;
      return found?.[0] ?? null;
    },

    of: ({ org, workspace }, traceIds, own) => {
      const { sql, values } = ownSql(own);
      const theirs = `log_feedback INDEXED BY log_feedback_of_trace WHERE ${MINE} AND trace_id = ?${sql}`;
      const sums = cached(`SELECT count(*), total(mark) FROM ${theirs}`);
      const last = cached(`SELECT json_remove(record, '$.entry') FROM ${theirs}
        ORDER BY created_at DESC, id DESC LIMIT ${SHOWN_FEEDBACK}`);
      const rows: TraceFeedbackRow[] = [];
      for (const traceId of traceIds) {
        const given = [org, workspace, traceId, ...values];
        const [count, sum] = sums.get(...given) as unknown as [number, number];
        if (count === 0) continue;
        const records = last.all(...given) as unknown as [string][];
        rows.push([traceId, count, sum, records.map(([record]) => record)]);
      }
      return rows;
    },

    find: (scope, filter) => {
      const { feedback: range, ...rest } = filter;
      const { from = 0, until = Number.MAX_SAFE_INTEGER } = filter;
      const traces = range && liked(scope, range);
      const sql = `SELECT created_at, id, trace_id, record FROM log_feedback INDEXED BY log_feedback_by_time
        WHERE ${MINE} AND time >= ? AND time < ?`;
      const rows = cached(sql).iterate(scope.org, scope.workspace, from, until) as unknown as Rows<Found>;
      const found: Found[] = [];
      for (const row of rows) {
        if (traces && !traces.has(row[2])) continue;
        if (!meant(rest, traces !== undefined, JSON.parse(row[3]) as FeedbackRecord)) continue;
        if (found.length === FOUND) throw tooMuch();
        found.push(row);
      }
      return found.sort(inOrder).map(([, , , record]) => record);
    },

    scan: (after, limit, characters) => {
      const sql = 'SELECT seq, record FROM log_feedback WHERE seq > ? ORDER BY seq LIMIT ?';
      const found: [number, string][] = [];
      let length = 0;
      for (const row of cached(sql).iterate(after, limit) as unknown as Rows<[number, string]>) {
        found.push(row);
        length += row[1].length;
        if (length >= characters) break;
      }
      return found;
    },
  };
}

/** A condition on whose feedback counts; nothing where everybody's does. */
function ownSql(own: FeedbackOwner | null): { readonly sql: string; readonly values: readonly string[] } {
  if (own === null) return { sql: '', values: [] };
  const [member, value] =
    own.userId === undefined ? ['apiKeyId', own.apiKeyId ?? ''] : ['userId', own.userId];
  const sql = ` AND (json_extract(record, '$.${member}') = ? OR json_extract(record, '$.entry.${member}') = ?)`;
  return { sql, values: [value, value] };
}

/** Whether a filter means the entry that feedback is about; without an entry, time and trace alone can be asked. */
function meant(filter: LogFilter, ranged: boolean, { entry, traceId }: FeedbackRecord): boolean {
  if (entry !== undefined) return matchesLog(filter, entry);
  const { from, until, traceIds, ...others } = filter;
  if (ranged || Object.keys(others).length > 0) return false;
  return traceIds === undefined || traceIds.includes(traceId);
}

function inOrder(a: Found, b: Found): number {
  return a[0] - b[0] || (a[1] < b[1] ? -1 : 1);
}

function tooMuch(): FailureError {
  const message = `is too far: more than ${FOUND} pieces of feedback are meant`;
  return new FailureError({
    reason: 'validation_failed',
    message: `until: ${message}`,
    violations: [{ field: 'until', rule: 'too_many', message }],
  });
}
