// The request log's port over the two workers.
import { setImmediate } from 'node:timers/promises';
import { invalidField } from '../../lib/errors.ts';
import { checkScope } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import { checkLogFilter } from '../log-filter.ts';
import { checkPageSize, checkSkip } from '../page-query.ts';
import type { RequestLogStore, RequestRecord } from '../request-log.ts';
import type { LogRowPage, ReaderCall, WriterCall } from './protocol.ts';
import { decodeEntry, encodeBatch } from './request-log-batch.ts';
import type { WorkerClient } from './worker-client.ts';

/** Entries parsed between two turns of the event loop: about a millisecond's work. */
const SLICE = 200;

export function sqliteRequestLog(
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
): RequestLogStore {
  return {
    append: async (batch) => {
      if (batch.length === 0) return;
      const text = await encodeBatch(batch);
      await writer.call({ kind: 'append', batch: text }, text.length);
    },

    page: async (scope, filter, request) => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const { order } = request;
      if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
      const take = checkPageSize(request.pageSize);
      const skip = checkSkip(request.page, take);
      const found = await reader.call<LogRowPage>({
        kind: 'log',
        org,
        workspace,
        filter: checkLogFilter(filter),
        order,
        skip,
        take,
      });
      const entries: RequestRecord[] = [];
      for (const [index, text] of found.entries.entries()) {
        if (index > 0 && index % SLICE === 0) await setImmediate();
        entries.push(decodeEntry(text));
      }
      return { entries, total: Math.min(found.total, LIMITS.total), totalCapped: found.total > LIMITS.total };
    },
  };
}
