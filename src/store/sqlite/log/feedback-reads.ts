// Feedback as readers find it. Records cross as JSON text.
import { boundsOf } from '../../log/trace-feedback.ts';
import { SHOWN_FEEDBACK } from '../../log-store.ts';
import type { FeedbackOwner, FeedbackRange } from '../../request-log.ts';
import type { StatementCache } from '../statement-cache.ts';
import type { LogScope } from './selection.ts';

/** What a trace's feedback comes to; `last` newest first. */
export type TraceFeedbackRow = [traceId: string, count: number, sum: number, last: string[]];

export interface FeedbackReader {
  get(org: string, workspace: string | null, id: string): string | null;
  /** @param traceIds each once */
  of(scope: LogScope, traceIds: readonly string[], own: FeedbackOwner | null): TraceFeedbackRow[];
  /** Traces whose mean of value x weight is in the range. */
  liked(scope: LogScope, range: FeedbackRange): Set<string>;
  scan(after: number, limit: number, characters: number): [seq: number, record: string][];
}

type Rows<T> = Iterable<T>;

export const MINE = 'organisation_id = ? AND workspace_id = coalesce(?, workspace_id)';

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
      const totals = cached(`SELECT count(*), total(mark) FROM ${theirs}`);
      const last = cached(`SELECT json_remove(record, '$.entry') FROM ${theirs}
        ORDER BY created_at DESC, id DESC LIMIT ${SHOWN_FEEDBACK}`);
      const rows: TraceFeedbackRow[] = [];
      for (const traceId of traceIds) {
        const given = [org, workspace, traceId, ...values];
        const [count, sum] = totals.get(...given) as unknown as [number, number];
        if (count === 0) continue;
        const records = last.all(...given) as unknown as [string][];
        rows.push([traceId, count, sum, records.map(([record]) => record)]);
      }
      return rows;
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

/** The condition on whose feedback counts; empty when all feedback counts. */
function ownSql(own: FeedbackOwner | null): { readonly sql: string; readonly values: readonly string[] } {
  if (own === null) return { sql: '', values: [] };
  const [member, value] =
    own.userId === undefined ? ['apiKeyId', own.apiKeyId ?? ''] : ['userId', own.userId];
  const sql = ` AND (json_extract(record, '$.${member}') = ? OR json_extract(record, '$.entry.${member}') = ?)`;
  return { sql, values: [value, value] };
}
