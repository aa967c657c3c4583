// The request log's port over MongoDB.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { invalidField } from '../../lib/errors.ts';
import { checkInteger, checkScope } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import { checkPageSize, checkSkip } from '../page-query.ts';
import type { LogFilter, RequestLogStore, RequestRecord } from '../request-log.ts';
import type { Calls } from './calls.ts';
import { rowsOf } from './request-log-batch.ts';
import { readLog } from './request-log-reads.ts';
import { logModel } from './request-log-schema.ts';
import { appendRows } from './request-log-writes.ts';

/** Values of one condition. */
const VALUES = 100;
/** Entries parsed between two turns of the event loop: about a millisecond's work. */
const SLICE = 200;

export function mongoRequestLog(connection: mongoose.Connection, calls: Calls): RequestLogStore {
  const model = logModel(connection);
  return {
    append: async (batch) => {
      if (batch.length === 0) return;
      const rows = await rowsOf(batch);
      await calls.run((deadline) => appendRows(connection, model, rows, deadline));
    },

    page: async (scope, filter, request) => {
      const { organisationId, workspaceId } = checkScope(scope);
      const { order } = request;
      if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
      const take = checkPageSize(request.pageSize);
      const skip = checkSkip(request.page, take);
      const query = { organisationId, workspaceId, filter: checkFilter(filter), order, skip, take };
      const found = await calls.run((deadline) => readLog(model, query, deadline));
      const entries: RequestRecord[] = [];
      for (const [index, text] of found.entries.entries()) {
        if (index > 0 && index % SLICE === 0) await setImmediate();
        entries.push(JSON.parse(text) as RequestRecord);
      }
      return { entries, total: Math.min(found.total, LIMITS.total), totalCapped: found.total > LIMITS.total };
    },
  };
}

/** The filter with nothing in it but what it may hold. */
function checkFilter({ from, until, statusCodes, traceIds }: LogFilter): LogFilter {
  return {
    ...(from === undefined ? {} : { from: checkInteger('from', from, 0) }),
    ...(until === undefined ? {} : { until: checkInteger('until', until, 0) }),
    ...(statusCodes === undefined
      ? {}
      : {
          statusCodes: checkList('statusCodes', statusCodes).map((code) =>
            checkInteger('statusCodes', code, 0),
          ),
        }),
    ...(traceIds === undefined ? {} : { traceIds: checkList('traceIds', traceIds).map(checkTraceId) }),
  };
}

function checkTraceId(traceId: unknown): string {
  if (typeof traceId !== 'string') throw invalidField('traceIds', 'must be strings', 'type');
  return traceId;
}

function checkList<T>(field: string, list: readonly T[]): readonly T[] {
  if (!Array.isArray(list)) throw invalidField(field, 'must be a list', 'type');
  if (list.length === 0) throw invalidField(field, 'must not be empty', 'min_items');
  if (list.length > VALUES) throw invalidField(field, `has more than ${VALUES} values`, 'max_items');
  return list;
}
