// The request log's port over the two workers.
import { setImmediate } from 'node:timers/promises';
import { invalidField } from '../../lib/errors.ts';
import { checkInteger, checkScope } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import { checkPageSize, checkSkip } from '../page-query.ts';
import type { LogFilter, RequestLogStore, RequestRecord } from '../request-log.ts';
import type { LogRowPage, ReaderCall, WriterCall } from './protocol.ts';
import { decodeEntry, encodeBatch } from './request-log-batch.ts';
import type { WorkerClient } from './worker-client.ts';

/** Values of one condition. */
const VALUES = 100;
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
        filter: checkFilter(filter),
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
