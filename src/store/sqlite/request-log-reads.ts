// The reader's side of the request log. Each condition has its index; several values of one condition are
// several walks of it, merged in order, so that no page sorts all that matches.
import type { SQLInputValue } from 'node:sqlite';
import { LIMITS } from '../documents.ts';
import type { LogPageCall, LogRowPage } from './protocol.ts';
import { SEGMENT_BITS, traceNumber } from './request-log-schema.ts';
import type { StatementCache } from './statement-cache.ts';

/** One walk of an index: where it starts, and its bound values. */
interface Walk {
  readonly from: string;
  readonly where: string;
  readonly values: readonly SQLInputValue[];
}

export function logReader(cached: StatementCache): (call: LogPageCall) => LogRowPage {
  return (call) => {
    const scope = cached('SELECT key FROM log_scopes WHERE organisation_id = ? AND workspace_id = ?');
    const row = scope.get(call.org, call.workspace ?? '') as unknown as [number] | undefined;
    if (!row) return { entries: [], total: 0 };

    const walks = walksOf(call, row[0]);
    const values = walks.flatMap((walk) => walk.values);
    const all = (columns: string): string =>
      walks.map(({ from, where }) => `SELECT ${columns} FROM ${from} WHERE ${where}`).join(' UNION ALL ');
    const [total] = cached(
      `SELECT count(*) FROM (SELECT 1 FROM (${all('1')}) LIMIT ${LIMITS.total + 1})`,
    ).get(...values) as unknown as [number];

    // Arrival decides between entries of one millisecond, except where the index has ids in its order.
    const byId = walks.length === 1 && walks[0]?.from.endsWith('log_by_organisation');
    const tie = byId ? 'id' : 'seq';
    const order = `ORDER BY created_at ${call.order}, ${tie} ${call.order} LIMIT ? OFFSET ?`;
    const rows = cached(`${all(`seq, created_at${byId ? ', id' : ''}`)} ${order}`).all(
      ...values,
      call.take,
      call.skip,
    );
    const read = cached('SELECT entry FROM log_entries WHERE seq = ?');
    return {
      entries: (rows as unknown as [number][]).map(([seq]) => (read.get(seq) as unknown as [string])[0]),
      total,
    };
  };
}

function walksOf(call: LogPageCall, scope: number): Walk[] {
  const { traceIds, statusCodes } = call.filter;
  const from = call.filter.from ?? Number.MIN_SAFE_INTEGER;
  const until = call.filter.until ?? Number.MAX_SAFE_INTEGER;
  const scoped = call.workspace === null ? 'organisation = ?' : 'workspace = ?';
  const time = 'created_at >= ? AND created_at < ?';
  const anyStatus = statusCodes ? ' AND status_code IN (SELECT value FROM json_each(?))' : '';
  const statuses = statusCodes ? [JSON.stringify(statusCodes)] : [];

  if (traceIds) {
    // CROSS JOIN keeps the order of the loops: segments outside, the index inside.
    return [...new Set(traceIds)].map((traceId) => ({
      from: `(WITH RECURSIVE segments (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM segments
        WHERE n < (SELECT max(seq) >> ${SEGMENT_BITS} FROM log_entries)) SELECT n FROM segments)
        CROSS JOIN log_entries INDEXED BY log_by_trace`,
      where: `segment = n AND trace = ? AND trace_id = ? AND ${scoped} AND ${time}${anyStatus}`,
      values: [traceNumber(traceId), traceId, scope, from, until, ...statuses],
    }));
  }
  if (call.workspace !== null) {
    return [
      {
        from: 'log_entries INDEXED BY log_by_workspace',
        where: `workspace = ? AND ${time}${anyStatus}`,
        values: [scope, from, until, ...statuses],
      },
    ];
  }
  if (statusCodes && !statusCodes.includes(200)) {
    return [...new Set(statusCodes)].map((statusCode) => ({
      from: 'log_entries INDEXED BY log_by_status',
      where: `organisation = ? AND status_code = ? AND status_code <> 200 AND ${time}`,
      values: [scope, statusCode, from, until],
    }));
  }
  return [
    {
      from: 'log_entries INDEXED BY log_by_organisation',
      where: `organisation = ? AND ${time}${anyStatus}`,
      values: [scope, from, until, ...statuses],
    },
  ];
}
