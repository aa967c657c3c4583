// Exports of the request log: made, started, stopped, and their files handed out.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CancelLogExportRequest,
  type CreateLogExportRequest,
  type DownloadLogExportRequest,
  type GetLogExportFieldRestrictionsRequest,
  type GetLogExportRequest,
  type ListLogExportsRequest,
  type LogExport,
  type LogExportDownload,
  LogExportDownloadSchema,
  type LogExportFieldRestrictions,
  LogExportFieldRestrictionsSchema,
  type LogExportFilters,
  LogExportFiltersSchema,
  type LogExportList,
  LogExportListSchema,
  type LogExportMessage,
  LogExportMessageSchema,
  type LogExportReceipt,
  LogExportReceiptSchema,
  LogExportSchema,
  type StartLogExportRequest,
  type UpdateLogExportRequest,
} from '../../../gen/gateway/admin/v2/log_exports_pb.ts';
import type { Changes } from '../../access/audit/changes.ts';
import type { Directory } from '../../access/directory.ts';
import { isPerson } from '../../access/roles.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import {
  type ExportRun,
  keptFilter,
  type LogExportBody,
  logExports,
} from '../../ledger/exports/collection.ts';
import { isThere } from '../../ledger/exports/file.ts';
import { type ExportLinks, LINK_MS } from '../../ledger/exports/link.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { BlobStore } from '../../store/blobs.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { LogFilter } from '../../store/request-log.ts';
import { asked } from '../analytics/selection.ts';
import { authorOf, callerOf, found, scopeOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { isWithinReach, narrowed, ownCalls, workspaceOfLogs } from '../logs/reach.ts';
import { searchable } from '../logs/text.ts';
import { deniedFields, exportFields, exportFilter } from './filters.ts';
import { logExportRecord } from './record.ts';

/** What the service needs. */
export interface LogExportsDeps {
  readonly documents: DocumentStore;
  readonly changes: Changes;
  readonly directory: Directory;
  readonly store: LogStore;
  readonly blobs: BlobStore;
  readonly links: ExportLinks;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
  /** Where people reach the gateway, without a slash at the end. */
  readonly publicUrl: () => string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

type Known = Document<LogExportBody>;

/** The default number of entries of an export. */
const DEFAULT_PAGE_SIZE = 50_000;

/** The methods of LogExportsService. */
export function logExportsService(deps: LogExportsDeps) {
  const { documents, changes, directory, store, blobs, links, flush, publicUrl, now } = deps;

  /** People see the exports they made. */
  const find = async (call: Call, id: string): Promise<Known> => {
    const caller = callerOf(call);
    // No store takes a null byte for a name.
    const known = id.includes('\0') ? undefined : await documents.get(scopeOf(caller), logExports, id);
    const hidden = isPerson(caller) && known?.body.createdBy !== authorOf(caller);
    return found(hidden ? undefined : known, 'export');
  };

  const write = async (call: Call, before: Known, body: LogExportBody): Promise<void> => {
    const { id, version, organisationId, workspaceId } = before;
    const after = { ...before, body, updatedAt: now() };
    await changes.commit(
      call,
      { organisationId, workspaceId },
      [updateOperation(logExports, id, version, { body, updatedAt: after.updatedAt })],
      { ...targetOf(after), before: shown(before), after: shown(after) },
    );
  };

  /** How many entries match now. */
  const total = async (scope: TenantScope, filter: LogFilter): Promise<bigint> => {
    await flush();
    const page = await asked(
      store.page(scope, filter, { page: 0, pageSize: 1, order: 'desc' }),
      (parameter) => `filters.${parameter}`,
    );
    return BigInt(page.total);
  };

  const receipt = async (id: string, scope: TenantScope, filter: LogFilter): Promise<LogExportReceipt> =>
    create(LogExportReceiptSchema, { id, total: await total(scope, filter), object: 'export' });

  return withConflictRetries({
    async createLogExport(request: CreateLogExportRequest, call: Call): Promise<LogExportReceipt> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const filters = request.filters ?? create(LogExportFiltersSchema);
      const workspaceId = await workspaceOf(deps, caller, request.workspaceId, filters.workspaceSlug);
      const filter = exportFilter(filters, now());
      const own = ownCalls(directory, caller, filter);
      const body = defined<LogExportBody>({
        filters: codec.encode(LogExportFiltersSchema, filters) as JsonObject,
        requestedData: exportFields(directory, organisationId, request.requestedData),
        description: described(request.description),
        createdBy: authorOf(caller),
        own: Object.keys(own).length === 0 ? undefined : own,
        status: 'draft',
        turns: 0,
        run: undefined,
        discard: undefined,
        cleared: undefined,
      });
      const [id, createdAt] = [randomUUID(), now()];
      const made: Known = {
        id,
        organisationId,
        version: 1,
        status: 'active',
        schemaVersion: 1,
        createdAt,
        updatedAt: createdAt,
        body,
        ...(workspaceId === undefined ? {} : { workspaceId }),
      };
      const scope = { organisationId, workspaceId };
      await changes.commit(call, scope, [insertOperation(logExports, { id, createdAt, body })], {
        ...targetOf(made),
        after: shown(made),
      });
      return receipt(id, scope, narrowed(filter, own));
    },

    async listLogExports(request: ListLogExportsRequest, call: Call): Promise<LogExportList> {
      const caller = callerOf(call);
      const workspaceId = await workspaceOfLogs(deps, caller, request.workspaceId, 'workspace_id');
      const page = await documents.page({ organisationId: caller.organisationId, workspaceId }, logExports, {
        ...newestFirst(request),
        filter: isPerson(caller) ? [{ field: 'createdBy', op: 'eq', value: authorOf(caller) }] : [],
      });
      return create(LogExportListSchema, { ...listHead(page), data: page.documents.map(logExportRecord) });
    },

    async getLogExportFieldRestrictions(
      request: GetLogExportFieldRestrictionsRequest,
      call: Call,
    ): Promise<LogExportFieldRestrictions> {
      const caller = callerOf(call);
      await workspaceOfLogs(deps, caller, request.workspaceId, 'workspace_id');
      return create(LogExportFieldRestrictionsSchema, {
        object: 'export-field-restrictions',
        deniedFields: [...deniedFields(directory, caller.organisationId)],
      });
    },

    async getLogExport(request: GetLogExportRequest, call: Call): Promise<LogExport> {
      return logExportRecord(await find(call, request.exportId));
    },

    async updateLogExport(request: UpdateLogExportRequest, call: Call): Promise<LogExportReceipt> {
      const before = await find(call, request.exportId);
      const caller = callerOf(call);
      const { organisationId, workspaceId } = before;
      if (before.body.status === 'in_progress')
        throw fail('conflict', 'the export runs: it must be cancelled first');
      const filters = request.filters ?? filtersOf(before.body);
      const named = await workspaceOf(deps, caller, request.workspaceId, filters.workspaceSlug);
      if (named !== undefined && named !== workspaceId)
        throw invalidField('workspace_id', 'is not the workspace of the export');
      const filter = exportFilter(filters, now());
      const fields = patch(request.clear, ['description']);
      const { run: _, own: __, ...rest } = before.body;
      const own = ownOf(caller, before.body, filter);
      const body = defined<LogExportBody>({
        ...rest,
        filters: codec.encode(LogExportFiltersSchema, filters) as JsonObject,
        requestedData:
          request.requestedData.length === 0
            ? rest.requestedData
            : exportFields(directory, organisationId, request.requestedData),
        description: fields.optional('description', described(request.description), rest.description),
        status: 'draft',
        own: Object.keys(own).length === 0 ? undefined : own,
        discard: discardOf(rest),
      });
      await write(call, before, body);
      return receipt(before.id, { organisationId, workspaceId }, narrowed(filter, own));
    },

    async startLogExport(request: StartLogExportRequest, call: Call): Promise<LogExportMessage> {
      const before = await find(call, request.exportId);
      const caller = callerOf(call);
      const { organisationId, body } = before;
      if (body.status === 'in_progress') return messageOf('The export runs already');
      if (body.status === 'success')
        throw fail('conflict', 'the export is done: it can be fetched, or changed and started anew');
      const fields = exportFields(directory, organisationId, body.requestedData);
      // Entries written up to now are in it.
      await flush();
      // A permanent failure would repeat at the same place.
      const goesOn =
        body.status === 'stopped' &&
        body.run !== undefined &&
        isWithinReach(directory, caller, body.run.filter);
      const run = goesOn ? again(body.run as ExportRun) : newRun(caller, body, fields);
      const discard = goesOn ? body.discard : discardOf(body);
      // An instance that wrote it before it was stopped, and has not noticed yet, does not go on.
      const turns = body.turns + 1;
      await write(
        call,
        before,
        defined<LogExportBody>({ ...body, status: 'in_progress', run, discard, turns }),
      );
      return messageOf('The export has been started');
    },

    async cancelLogExport(request: CancelLogExportRequest, call: Call): Promise<LogExportMessage> {
      const before = await find(call, request.exportId);
      if (before.body.status !== 'in_progress') throw fail('conflict', 'the export does not run');
      const { run } = before.body;
      await write(
        call,
        before,
        defined<LogExportBody>({ ...before.body, status: 'stopped', run: run && again(run) }),
      );
      return messageOf('The export has been cancelled');
    },

    async downloadLogExport(request: DownloadLogExportRequest, call: Call): Promise<LogExportDownload> {
      const caller = callerOf(call);
      const { id, organisationId, workspaceId, body } = await find(call, request.exportId);
      if (body.status !== 'success' || body.run === undefined)
        throw fail('conflict', 'the export is not done: there is no file yet');
      const denied = deniedFields(directory, organisationId).find((name) => body.run?.fields.includes(name));
      if (denied !== undefined)
        throw fail('forbidden', `the export holds ${denied}, which the organisation denies to exports`);
      // The security settings may show less of others' calls than when it was started.
      if (!isWithinReach(directory, caller, body.run.filter))
        throw fail('forbidden', 'the export holds calls of others: it must be changed and started anew');
      if (!(await isThere(blobs, body.run))) throw fail('conflict', 'the file of the export is gone');
      const until = now() + LINK_MS;
      const token = links.make({ scope: { organisationId, workspaceId }, exportId: id, until });
      return create(LogExportDownloadSchema, { signedUrl: `${publicUrl()}/exports/${token}` });
    },
  });

  /** Narrows it to its maker's calls: as they may see now, or as they could when another caller acts. */
  function ownOf(caller: Principal, { createdBy, own = {} }: LogExportBody, filter: LogFilter) {
    return authorOf(caller) === createdBy ? ownCalls(directory, caller, filter) : own;
  }

  function newRun(caller: Principal, body: LogExportBody, fields: readonly string[]): ExportRun {
    const filters = filtersOf(body);
    const startedAt = now();
    const given = exportFilter(filters, startedAt);
    const own = ownOf(caller, body, given);
    const { pageSize = DEFAULT_PAGE_SIZE, currentPage = 0 } = filters;
    return {
      filter: keptFilter({
        ...narrowed(given, own),
        until: Math.min(given.until ?? startedAt + 1, startedAt + 1),
      }),
      fields,
      skip: pageSize * currentPage,
      take: pageSize,
      passed: 0,
      rows: 0,
      bytes: 0,
      parts: [],
      startedAt,
    };
  }
}

function described(text: string | undefined): string | undefined {
  return text === undefined ? undefined : searchable('description', text);
}

/** The turns whose bytes are not read any more. */
function discardOf({ turns, cleared = 0 }: LogExportBody): number | undefined {
  return turns > cleared ? turns : undefined;
}

/** Resumes it: it has no owner, and nothing has failed yet. */
function again({ lease: _, error: __, ...run }: ExportRun): ExportRun {
  return run;
}

function messageOf(message: string): LogExportMessage {
  return create(LogExportMessageSchema, { message, object: 'export' });
}

function filtersOf({ filters }: LogExportBody): LogExportFilters {
  return codec.decode(LogExportFiltersSchema, filters);
}

/** The workspace that is named, as the request's own member or among the filters. @throws GatewayError validation_failed */
async function workspaceOf(
  deps: LogExportsDeps,
  caller: Principal,
  workspaceId: string | undefined,
  slug: string | undefined,
): Promise<string | undefined> {
  const filtered = await workspaceOfLogs(deps, caller, slug, 'filters.workspace_slug');
  const named = await workspaceOfLogs(deps, caller, workspaceId, 'workspace_id');
  if (filtered !== undefined && named !== undefined && filtered !== named)
    throw invalidField('filters.workspace_slug', 'is not the workspace of workspace_id');
  return named ?? filtered;
}

function shown(document: Known): JsonObject {
  return codec.encode(LogExportSchema, logExportRecord(document)) as JsonObject;
}

function targetOf({ id, workspaceId, body }: Known) {
  return { id, name: body.description ?? '', workspaceId };
}
