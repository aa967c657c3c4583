// The request log, read.
import { create } from '@bufbuild/protobuf';
import {
  type ListLogsRequest,
  type LogEntry,
  LogEntrySchema,
  type LogList,
  LogListSchema,
  Order,
  Outcome,
} from '../../gen/gateway/admin/v2/logs_pb.ts';
import { type Usage, UsageSchema } from '../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../access/call.ts';
import type { Directory } from '../access/directory.ts';
import type { Principal } from '../access/principal.ts';
import { roleOf } from '../access/roles.ts';
import { inDollars } from '../ledger/prices/price-list.ts';
import { fail, invalidField } from '../lib/errors.ts';
import type {
  AttemptRecord,
  OutcomeRecord,
  RequestLogStore,
  RequestRecord,
  UsageRecord,
} from '../store/request-log.ts';
import { optionalTime } from './time.ts';

const OUTCOMES: Readonly<Record<OutcomeRecord, Outcome>> = {
  success: Outcome.SUCCESS,
  error: Outcome.ERROR,
  cancelled: Outcome.CANCELLED,
  interrupted: Outcome.INTERRUPTED,
};
const DEFAULT_PAGE_SIZE = 100;
/** Values of one filter. */
const MAX_VALUES = 100;

/** What the service needs. */
export interface LogsFacts {
  readonly store: RequestLogStore;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
  readonly directory: Directory;
}

/** The methods of LogsService. */
export function logsService({ store, flush, directory }: LogsFacts) {
  return {
    async listLogs(request: ListLogsRequest, call: Call): Promise<LogList> {
      const { principal } = call;
      if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
      checkAllData(directory, principal);
      const from = optionalTime('time_of_generation_min', request.timeOfGenerationMin);
      const until = optionalTime('time_of_generation_max', request.timeOfGenerationMax);
      if (from !== undefined && until !== undefined && from >= until) {
        throw invalidField('time_of_generation_max', 'must be after time_of_generation_min');
      }
      // A caller who reads after a call expects to find it.
      await flush();
      const page = await store.page(
        { organisationId: principal.organisationId, workspaceId: principal.workspaceId },
        {
          ...(from === undefined ? {} : { from }),
          ...(until === undefined ? {} : { until }),
          ...(request.statusCode === undefined
            ? {}
            : { statusCodes: readList('status_code', request.statusCode).map(Number) }),
          ...(request.traceId === undefined ? {} : { traceIds: readList('trace_id', request.traceId) }),
        },
        {
          page: request.currentPage ?? 0,
          pageSize: request.pageSize ?? DEFAULT_PAGE_SIZE,
          order: request.order === Order.ASC ? 'asc' : 'desc',
        },
      );
      return create(LogListSchema, {
        object: 'list',
        total: BigInt(page.total),
        totalCapped: page.totalCapped,
        data: page.entries.map(logEntry),
      });
    },
  };
}

/**
 * Where people are to see their own calls alone, nobody's are shown: the list cannot be narrowed to one person yet,
 * and everybody's would be too much. @throws GatewayError forbidden.
 */
function checkAllData(directory: Directory, principal: Principal): void {
  const role = roleOf(directory, principal);
  if (role !== 'member' && role !== 'manager') return;
  const name = role === 'member' ? 'membersViewAllData' : 'managersViewAllData';
  if (!directory.setting(name, principal.organisationId, principal.workspaceId))
    throw fail('forbidden', `the security setting ${name} is off: the log of all calls is not for a ${role}`);
}

/** Values separated by commas. @throws GatewayError validation_failed. */
function readList(field: string, text: string): string[] {
  const values = text.split(',');
  if (values.length > MAX_VALUES) throw invalidField(field, `must hold at most ${MAX_VALUES} values`);
  return values;
}

function logEntry(record: RequestRecord): LogEntry {
  const { createdAt, outcome, usage, error, attempts, cost, ...same } = record;
  return create(LogEntrySchema, {
    ...same,
    object: 'log',
    createdAt: new Date(createdAt).toISOString(),
    outcome: OUTCOMES[outcome],
    ...(usage ? { usage: usageMessage(usage) } : {}),
    ...(error ? { error } : {}),
    ...costOf(cost),
    attempts: attempts.map(attempt),
  });
}

function attempt({ startedAt, outcome, usage, error, cost, ...same }: AttemptRecord) {
  return {
    ...same,
    startedAt: new Date(startedAt).toISOString(),
    outcome: OUTCOMES[outcome],
    ...(usage ? { usage: usageMessage(usage) } : {}),
    ...(error ? { error } : {}),
    ...costOf(cost),
  };
}

function costOf(cost: string | undefined): { readonly cost?: number; readonly costExact?: string } {
  return cost === undefined ? {} : { cost: inDollars(BigInt(cost)), costExact: cost };
}

function usageMessage(usage: UsageRecord): Usage {
  const { cachedTokens, cacheCreationTokens, reasoningTokens } = usage;
  return create(UsageSchema, {
    promptTokens: BigInt(usage.promptTokens),
    totalTokens: BigInt(usage.totalTokens),
    ...(usage.completionTokens === undefined ? {} : { completionTokens: BigInt(usage.completionTokens) }),
    ...(cachedTokens === undefined && cacheCreationTokens === undefined
      ? {}
      : {
          promptTokensDetails: {
            ...(cachedTokens === undefined ? {} : { cachedTokens: BigInt(cachedTokens) }),
            ...(cacheCreationTokens === undefined
              ? {}
              : { cacheCreationTokens: BigInt(cacheCreationTokens) }),
          },
        }),
    ...(reasoningTokens === undefined
      ? {}
      : { completionTokensDetails: { reasoningTokens: BigInt(reasoningTokens) } }),
  });
}
