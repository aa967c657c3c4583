// What a filter of the request log may hold, for every adapter.
import { invalidField } from '../lib/errors.ts';
import { checkInteger } from './document-checks.ts';
import type { LogFilter } from './request-log.ts';

/** Values of one condition. */
const VALUES = 100;

/** The filter with nothing in it but what it may hold. */
export function checkLogFilter({ from, until, statusCodes, traceIds }: LogFilter): LogFilter {
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
