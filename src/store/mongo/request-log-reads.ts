// Pages of the request log. Each condition has its index, which goes on in the order of pages.
import { LIMITS } from '../documents.ts';
import type { LogFilter } from '../request-log.ts';
import type { Deadline } from './calls.ts';
import { type Filter, queryOf, tenantFilter } from './page-filter.ts';
import type { LogModel, LogRow } from './request-log-schema.ts';

/** A page query with nothing in it that was not checked. */
export interface CheckedLogQuery {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly filter: LogFilter;
  readonly order: 'asc' | 'desc';
  readonly skip: number;
  readonly take: number;
}

export interface LogRowPage {
  /** The entries' JSON texts. */
  readonly entries: readonly string[];
  readonly total: number;
}

export async function readLog(
  model: LogModel,
  query: CheckedLogQuery,
  deadline: Deadline,
): Promise<LogRowPage> {
  const matching = queryOf<LogRow>(logFilter(query));
  const [total, rows] = await Promise.all([
    model.countDocuments(matching, { limit: LIMITS.total + 1, maxTimeMS: deadline.remaining() }),
    model
      .find(matching, { entry: 1 })
      .sort(logSort(query.order))
      .skip(query.skip)
      .limit(query.take)
      .allowDiskUse(true)
      .maxTimeMS(deadline.remaining())
      .lean<Pick<LogRow, 'entry'>[]>(),
  ]);
  return { entries: rows.map((row) => row.entry), total };
}

/** Entries of one millisecond by id. */
export function logSort(order: 'asc' | 'desc'): Record<string, 1 | -1> {
  const direction = order === 'asc' ? 1 : -1;
  return { createdAt: direction, id: direction };
}

export function logFilter({ organisationId, workspaceId, filter }: CheckedLogQuery): Filter {
  const { from, until, statusCodes, traceIds } = filter;
  const time = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(until === undefined ? {} : { $lt: until }),
  };
  return {
    ...tenantFilter(organisationId, workspaceId),
    ...(statusCodes === undefined ? {} : { statusCode: { $in: [...statusCodes] } }),
    ...(traceIds === undefined ? {} : { traceId: { $in: [...traceIds] } }),
    ...(from === undefined && until === undefined ? {} : { createdAt: time }),
  };
}
