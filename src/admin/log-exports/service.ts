// Exports of the request log: made, started, stopped, and their files handed out.
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
import type { Document, DocumentStore } from '../../store/documents.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { LogFilter } from '../../store/request-log.ts';
import { asked } from '../analytics/selection.ts';
import { authorOf, callerOf, found, scopeOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { type Resource, resource, shownAs, tenantOf } from '../kit/resource.ts';
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

/** The service's own parts. */
interface ExportsRoom extends LogExportsDeps {
  readonly stored: Resource<LogExportBody>;
  /** People see the exports they made. @throws GatewayError not_found */
  readonly find: (call: Call, request: { readonly exportId: string }) => Promise<Known>;
}

/** The methods of LogExportsService. */
export function logExportsService(deps: LogExportsDeps) {
  const stored = resource(deps, {
    collection: logExports,
    noun: 'export',
    shown: shownAs(LogExportSchema, logExportRecord),
    targetOf: ({ id, workspaceId, body }) => ({ id, name: body.description ?? '', workspaceId }),
  });
  const room: ExportsRoom = {
    ...deps,
    stored,
    async find(call, { exportId: id }) {
      const caller = callerOf(call);
      // No store takes a null byte for a name.
      const known = id.includes('\0') ? undefined : await deps.documents.get(scopeOf(caller), logExports, id);
      const hidden = isPerson(caller) && known?.body.createdBy !== authorOf(caller);
      return found(hidden ? undefined : known, 'export');
    },
  };
  return withConflictRetries({
    createLogExport: (request: CreateLogExportRequest, call: Call) => newExport(room, request, call),
    updateLogExport: (request: UpdateLogExportRequest, call: Call) => changedExport(room, request, call),
    ...exportRuns(room),
    ...exportReads(room),
  });
}

async function newExport(
  room: ExportsRoom,
  request: CreateLogExportRequest,
  call: Call,
): Promise<LogExportReceipt> {
  const { directory, stored, now } = room;
  const caller = callerOf(call);
  const { organisationId } = caller;
  const filters = request.filters ?? create(LogExportFiltersSchema);
  const workspaceId = await workspaceOf(room, caller, request.workspaceId, filters.workspaceSlug);
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
  const made = await stored.create(call, stored.draft({ organisationId, workspaceId }, body));
  return receiptOf(room, made, narrowed(filter, own));
}

async function changedExport(
  room: ExportsRoom,
  request: UpdateLogExportRequest,
  call: Call,
): Promise<LogExportReceipt> {
  const { directory, stored, now } = room;
  const before = await room.find(call, request);
  const caller = callerOf(call);
  const { organisationId, workspaceId } = before;
  if (before.body.status === 'in_progress')
    throw fail('conflict', 'the export runs: it must be cancelled first');
  const filters = request.filters ?? filtersOf(before.body);
  const named = await workspaceOf(room, caller, request.workspaceId, filters.workspaceSlug);
  if (named !== undefined && named !== workspaceId)
    throw invalidField('workspace_id', 'is not the workspace of the export');
  const filter = exportFilter(filters, now());
  const fields = patch(request.clear, ['description']);
  const { run: _, own: __, ...rest } = before.body;
  const own = ownOf(directory, caller, before.body, filter);
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
  await stored.update(call, before, stored.changed(before, body));
  return receiptOf(room, before, narrowed(filter, own));
}

/** Starting and stopping. */
function exportRuns(room: ExportsRoom) {
  const { directory, stored, find, flush } = room;
  return {
    async startLogExport(request: StartLogExportRequest, call: Call): Promise<LogExportMessage> {
      const before = await find(call, request);
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
      const run = goesOn ? again(body.run as ExportRun) : newRun(room, caller, body, fields);
      const discard = goesOn ? body.discard : discardOf(body);
      // An instance that wrote it before it was stopped, and has not noticed yet, does not go on.
      const turns = body.turns + 1;
      const started = defined<LogExportBody>({ ...body, status: 'in_progress', run, discard, turns });
      await stored.update(call, before, stored.changed(before, started));
      return messageOf('The export has been started');
    },

    async cancelLogExport(request: CancelLogExportRequest, call: Call): Promise<LogExportMessage> {
      const before = await find(call, request);
      const { body } = before;
      if (body.status !== 'in_progress') throw fail('conflict', 'the export is not running');
      const run = body.run && again(body.run);
      const stopped = defined<LogExportBody>({ ...body, status: 'stopped', run });
      await stored.update(call, before, stored.changed(before, stopped));
      return messageOf('The export has been cancelled');
    },
  };
}

function exportReads(room: ExportsRoom) {
  const { directory, stored, blobs, links, publicUrl, now, find } = room;
  return {
    async listLogExports(request: ListLogExportsRequest, call: Call): Promise<LogExportList> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = await workspaceOfLogs(room, caller, request.workspaceId, 'workspace_id');
      const page = await stored.page({ organisationId, workspaceId }, request, {
        filter: isPerson(caller) ? [{ field: 'createdBy', op: 'eq', value: authorOf(caller) }] : [],
      });
      return create(LogExportListSchema, { ...listHead(page), data: page.documents.map(logExportRecord) });
    },

    async getLogExportFieldRestrictions(
      request: GetLogExportFieldRestrictionsRequest,
      call: Call,
    ): Promise<LogExportFieldRestrictions> {
      const caller = callerOf(call);
      await workspaceOfLogs(room, caller, request.workspaceId, 'workspace_id');
      return create(LogExportFieldRestrictionsSchema, {
        object: 'export-field-restrictions',
        deniedFields: [...deniedFields(directory, caller.organisationId)],
      });
    },

    async getLogExport(request: GetLogExportRequest, call: Call): Promise<LogExport> {
      return logExportRecord(await find(call, request));
    },

    async downloadLogExport(request: DownloadLogExportRequest, call: Call): Promise<LogExportDownload> {
      const caller = callerOf(call);
      const known = await find(call, request);
      const { id, organisationId, body } = known;
      if (body.status !== 'success' || body.run === undefined)
        throw fail('conflict', 'the export is not done: there is no file yet');
      const denied = deniedFields(directory, organisationId).find((name) => body.run?.fields.includes(name));
      if (denied !== undefined)
        throw fail('forbidden', `the export holds ${denied}, which the organisation denies to exports`);
      // The security settings may show less of others' calls than when it was started.
      if (!isWithinReach(directory, caller, body.run.filter))
        throw fail('forbidden', 'the export holds calls of others: it must be changed and started anew');
      if (!(await isThere(blobs, body.run))) throw fail('conflict', 'the file of the export is gone');
      const token = links.make({ scope: tenantOf(known), exportId: id, until: now() + LINK_MS });
      return create(LogExportDownloadSchema, { signedUrl: `${publicUrl()}/exports/${token}` });
    },
  };
}

/** The answer to a new or changed export: how many entries match now. */
async function receiptOf(
  { store, flush }: LogExportsDeps,
  document: Known,
  filter: LogFilter,
): Promise<LogExportReceipt> {
  await flush();
  const page = await asked(
    store.page(tenantOf(document), filter, { page: 0, pageSize: 1, order: 'desc' }),
    (parameter) => `filters.${parameter}`,
  );
  return create(LogExportReceiptSchema, { id: document.id, total: BigInt(page.total), object: 'export' });
}

/** Narrows it to its maker's calls: as they may see now, or as they could when another caller acts. */
function ownOf(
  directory: Directory,
  caller: Principal,
  { createdBy, own = {} }: LogExportBody,
  filter: LogFilter,
) {
  return authorOf(caller) === createdBy ? ownCalls(directory, caller, filter) : own;
}

function newRun(
  { directory, now }: LogExportsDeps,
  caller: Principal,
  body: LogExportBody,
  fields: readonly string[],
): ExportRun {
  const filters = filtersOf(body);
  const startedAt = now();
  const given = exportFilter(filters, startedAt);
  const own = ownOf(directory, caller, body, given);
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
