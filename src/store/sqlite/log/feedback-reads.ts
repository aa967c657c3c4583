// Feedback as readers find it. Records cross as JSON text.

import { matchesLog } from '../../log/matches.ts';
import type { FeedbackRecord } from '../../log-store.ts';
import type { LogFilter, LogRange } from '../../request-log.ts';
import type { StatementCache } from '../statement-cache.ts';
import { FailureError } from '../worker-loop.ts';

/** Records of one answer. */
const FOUND = 200_000;

export interface FeedbackReader {
  get(org: string, workspace: string | null, id: string): string | null;
  of(org: string, workspace: string | null, traceIds: readonly string[]): string[];
  find(org: string, workspace: string | null, filter: LogFilter): string[];
  /** Traces whose mean of value x weight is in the range. */
  liked(org: string, range: LogRange<number>): Set<string>;
  scan(after: number, limit: number, characters: number): [seq: number, record: string][];
}

type Rows<T> = Iterable<T>;

export function feedbackReader(cached: StatementCache): FeedbackReader {
  const mine = 'organisation_id = ? AND workspace_id = coalesce(?, workspace_id)';
  return {
    get: (org, workspace, id) => {
      const sql = `SELECT record FROM log_feedback WHERE ${mine} AND id = ?`;
      const found = cached(sql).get(org, workspace, id) as unknown as [string] | undefined;
      return found?.[0] ?? null;
    },

    of: (org, workspace, traceIds) => {
      const sql = `SELECT created_at, seq, record FROM log_feedback INDEXED BY log_feedback_by_trace
        WHERE ${mine} AND trace_id = ?`;
      const found = [...new Set(traceIds)].flatMap(
        (traceId) => cached(sql).all(org, workspace, traceId) as unknown as [number, number, string][],
      );
      return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , record]) => record);
    },

    find: (org, workspace, filter) => {
      const { from = 0, until = Number.MAX_SAFE_INTEGER } = filter;
      const sql = `SELECT created_at, seq, record FROM log_feedback INDEXED BY log_feedback_by_time
        WHERE ${mine} AND time >= ? AND time < ?`;
      const rows = cached(sql).iterate(org, workspace, from, until) as unknown as Rows<
        [number, number, string]
      >;
      const found: [number, number, string][] = [];
      for (const row of rows) {
        if (!meant(filter, JSON.parse(row[2]) as FeedbackRecord)) continue;
        if (found.length === FOUND) throw tooMuch();
        found.push(row);
      }
      return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , record]) => record);
    },

    liked: (org, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }) => {
      const sql = `SELECT trace_id, mark FROM log_feedback INDEXED BY log_feedback_by_trace
        WHERE organisation_id = ? ORDER BY trace_id, seq`;
      const traces = new Set<string>();
      let trace: string | undefined;
      let sum = 0;
      let count = 0;
      const close = (): void => {
        const mean = sum / count;
        if (trace !== undefined && mean >= min && mean <= max) traces.add(trace);
      };
      for (const [traceId, mark] of cached(sql).iterate(org) as unknown as Rows<[string, number]>) {
        if (traceId !== trace) {
          close();
          trace = traceId;
          sum = 0;
          count = 0;
        }
        sum += mark;
        count++;
      }
      close();
      return traces;
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

/** Whether a filter means the entry that feedback is about; without an entry, time and trace alone can be asked. */
function meant(filter: LogFilter, { entry, traceId }: FeedbackRecord): boolean {
  if (entry !== undefined) return matchesLog(filter, entry);
  const { from, until, traceIds, ...others } = filter;
  return (traceIds === undefined || traceIds.includes(traceId)) && Object.keys(others).length === 0;
}

function tooMuch(): FailureError {
  const message = `is too far: more than ${FOUND} pieces of feedback are meant`;
  return new FailureError({
    reason: 'validation_failed',
    message: `until: ${message}`,
    violations: [{ field: 'until', rule: 'too_many', message }],
  });
}
