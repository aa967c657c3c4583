// The request log: read, and extended by calls that were made elsewhere.
import { create } from '@bufbuild/protobuf';
import {
  type CreateLogsRequest,
  type CreateLogsResponse,
  CreateLogsResponseSchema,
  type CustomLog,
  type GetLogRequest,
  type ListLogFacetsRequest,
  type ListLogsRequest,
  type LogDetail,
  type LogFacetList,
  type LogList,
  LogListSchema,
  type LogTail,
  Order,
  type TailLogsRequest,
} from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { logReaderOf, logSight } from '../../access/roles.ts';
import type { SecuritySetting } from '../../access/security-settings.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import type { PriceList } from '../../ledger/prices/price-list.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { entryCount } from '../../store/log/entry-count.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { BodySearch } from '../../store/request-log.ts';
import { asked } from '../analytics/selection.ts';
import { callerOf, found, scopeOf } from '../kit/caller.ts';
import { optionalTime, timeText } from '../kit/time.ts';
import { logDetail } from './detail.ts';
import { logEntry } from './entry.ts';
import { listLogFacets } from './facets.ts';
import { type LogFilterDeps, logSelection } from './filter.ts';
import { insertedLog } from './insert.ts';
import { withLate } from './late.ts';
import { isSeen, seenFeedback } from './reach.ts';
import { type TailDeps, tailLogs } from './tail.ts';

const DEFAULT_PAGE_SIZE = 100;
/** Entries before a page that is named by its number. */
const MAX_SKIP = 100_000;

/** What the service needs. */
export interface LogsDeps extends LogFilterDeps, Pick<TailDeps, 'live' | 'isShared' | 'stillCalls'> {
  readonly store: LogStore;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
  readonly prices: PriceList;
  /** Whether the bodies of a workspace's calls are kept. */
  readonly keepsBodies: (workspaceId: string | undefined) => boolean;
  /** Whether entries keep metadata. */
  readonly keepsMetadata: boolean;
  /** Days that entries of a workspace are kept, when fewer than the gateway's. */
  readonly keepDays: (workspaceId: string | undefined) => number | undefined;
  /** Called with an attempt whose reported usage cannot be true. */
  readonly onUsageRefused?: (operation: string, attempt: AttemptRecord) => void;
}

/** The methods of LogsService. */
export function logsService(deps: LogsDeps) {
  const { store, flush, directory } = deps;
  return {
    async listLogs(request: ListLogsRequest, call: Call): Promise<LogList> {
      const principal = callerOf(call);
      const { scope, filter } = await logSelection(deps, principal, request);
      const { order, after, currentPage = 0, pageSize = DEFAULT_PAGE_SIZE } = request;
      if (after !== undefined && request.currentPage !== undefined)
        throw invalidField('after', 'must not be given together with current_page');
      if (currentPage * pageSize > MAX_SKIP)
        throw invalidField('current_page', `must not be behind ${MAX_SKIP} entries: those are had by after`);
      // A caller who reads after a call expects to find it.
      await flush();
      const countAll = request.includeTotal === 'exact';
      const bodies = filter.text === undefined ? undefined : bodySearch(deps, principal);
      const page = await asked(
        store.page(scope, filter, {
          page: currentPage,
          pageSize,
          order: order === Order.ASC ? 'asc' : 'desc',
          ...(after === undefined ? {} : { after }),
          ...(bodies === undefined ? {} : { bodies: { ...bodies, ...(countAll ? { countAll } : {}) } }),
        }),
      );
      const traces = [...new Set(page.entries.map(({ traceId }) => traceId))];
      const feedback = await store.feedbackOf(scope, traces, seenFeedback(directory, principal));
      // Sums know nothing of bodies: their search has counted as far as it could.
      const exact = page.totalCapped && countAll && bodies === undefined;
      const total = exact ? await asked(entryCount(store, scope, filter)) : page.total;
      return create(LogListSchema, {
        object: 'list',
        total: BigInt(total),
        totalCapped: page.totalCapped && !exact,
        data: page.entries.map((entry) => logEntry(entry, feedback.get(entry.traceId))),
        ...(page.next === undefined ? {} : { next: page.next }),
        ...(page.searchedTo === undefined
          ? {}
          : { searchIncomplete: true, searchedTo: timeText(page.searchedTo) }),
      });
    },

    async getLog(request: GetLogRequest, call: Call): Promise<LogDetail> {
      const principal = callerOf(call);
      const seen = sightOf(deps, principal);
      const at = optionalTime('created_at', request.createdAt);
      await flush();
      const scope = scopeOf(principal);
      const entry =
        (at === undefined ? undefined : await store.get(scope, request.logId, Math.max(0, at))) ??
        (await store.get(scope, request.logId));
      const own = entry !== undefined && isOwn(deps, principal, entry) ? entry : undefined;
      const { traceId, bodies = false, id, createdAt } = found(own, 'log');
      const [stored, [now], feedback] = await Promise.all([
        bodies && seen.payloads ? store.bodies(scope, id, createdAt) : undefined,
        withLate(store, scope, [found(own, 'log')], deps.now()),
        store.feedbackOf(scope, [traceId], seenFeedback(directory, principal)),
      ]);
      return logDetail({
        directory,
        entry: found(now, 'log').entry,
        bodies: stored,
        late: seen.payloads ? found(now, 'log').late : [],
        feedback: feedback.get(traceId),
        hooksOnly: request.type === 'hooks',
      });
    },

    listLogFacets(request: ListLogFacetsRequest, call: Call): Promise<LogFacetList> {
      return listLogFacets(deps, request, call);
    },

    tailLogs(request: TailLogsRequest, call: Call): Promise<AsyncIterable<LogTail>> {
      return tailLogs(deps, request, call);
    },

    createLogs: (request: CreateLogsRequest, call: Call) => createLogs(deps, request, call),
  };
}

async function createLogs(
  deps: LogsDeps,
  request: CreateLogsRequest,
  call: Call,
): Promise<CreateLogsResponse> {
  const { store, directory, prices } = deps;
  const principal = callerOf(call);
  if (!principal.scopes.has('completions.write'))
    throw fail('forbidden', 'the key lacks the scope completions.write');
  const keepDays = deps.keepDays(principal.workspaceId);
  const { keepsMetadata } = deps;
  const { organisationId, userId } = principal;
  const user = userId === undefined ? undefined : directory.user(organisationId, userId)?.body.email;
  const keeps = deps.keepsBodies(principal.workspaceId) && call.headers.get('debug') !== 'false';
  const logs = logsOf(request).map(({ log, at }) => {
    const { entry, bodies } = insertedLog(
      { call, principal, prices, keepDays, keepsMetadata, user },
      log,
      at,
    );
    return { entry: keeps ? { ...entry, bodies: true as const } : entry, bodies };
  });
  // Bodies are stored before the entry that refers to them.
  if (keeps) await store.appendBodies(logs.map(({ bodies }) => bodies));
  await store.append(logs.map(({ entry }) => entry));
  for (const { entry } of logs)
    for (const attempt of entry.attempts)
      if (attempt.usageRefused) deps.onUsageRefused?.(entry.operation, attempt);
  const ids = logs.map(({ entry }) => entry.id);
  return create(CreateLogsResponseSchema, { status: 'success', ids, id: ids[0] ?? '' });
}

/** @throws GatewayError validation_failed for a request with nothing in it */
function logsOf({ logs }: CreateLogsRequest): readonly { readonly log: CustomLog; readonly at: string }[] {
  if (logs.case === 'one') return [{ log: logs.value, at: '' }];
  const many = logs.case === 'many' ? logs.value.values : [];
  if (many.length === 0) throw invalidField('', 'must be a log or a list of logs', 'required');
  return many.map((log, i) => ({ log, at: `[${i}].` }));
}

/** What the security settings let the caller's role see. @throws GatewayError forbidden when that is nothing. */
function sightOf({ directory }: LogsDeps, principal: Principal): { readonly payloads: boolean } {
  const who = logReaderOf(directory, principal);
  if (who === undefined) return { payloads: true };
  const { organisationId, workspaceId } = principal;
  const sight = logSight(who, (name) => directory.setting(name, organisationId, workspaceId));
  if (!sight.payloads && !sight.metadata) throw fail('forbidden', 'the role of the caller may not see logs');
  return sight;
}

/** Whose bodies a list's search may read: those that the caller could read one by one. Undefined: none. */
function bodySearch({ directory }: LogsDeps, principal: Principal): BodySearch | undefined {
  const { organisationId, workspaceId, scopes, keyId } = principal;
  const who = logReaderOf(directory, principal);
  const setting = (name: SecuritySetting): boolean => directory.setting(name, organisationId, workspaceId);
  if (who !== undefined && !logSight(who, setting).payloads) return undefined;
  if (scopes.has('logs.view')) return {};
  return scopes.has('logs.write') || scopes.has('completions.write') ? { apiKeyId: keyId } : undefined;
}

/** A key that may not look at logs sees the calls that were made with it. */
function isOwn({ directory }: LogsDeps, principal: Principal, entry: RequestRecord): boolean {
  if (!principal.scopes.has('logs.view') && entry.apiKeyId !== principal.keyId) return false;
  return isSeen(directory, principal, entry);
}
