// The request log's port over MongoDB.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { invalidField } from '../../lib/errors.ts';
import { checkScope } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import { checkLogFilter } from '../log-filter.ts';
import { checkPageSize, checkSkip } from '../page-query.ts';
import type { RequestLogStore, RequestRecord } from '../request-log.ts';
import type { Calls } from './calls.ts';
import { rowsOf } from './request-log-batch.ts';
import { readLog } from './request-log-reads.ts';
import { logModel } from './request-log-schema.ts';
import { appendRows } from './request-log-writes.ts';

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
      const query = { organisationId, workspaceId, filter: checkLogFilter(filter), order, skip, take };
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
