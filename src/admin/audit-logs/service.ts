// The audit log, read, exported and proven.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type AuditLogList,
  AuditLogListSchema,
  type AuditLogProof,
  AuditLogProofSchema,
  type AuditLogRecord,
  AuditLogRecordSchema,
  type ExportAuditLogsRequest,
  type ListAuditLogsRequest,
  type VerifyAuditLogsRequest,
} from '../../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { type AuditEntryBody, auditEntries } from '../../access/audit/entry.ts';
import { verifyChain } from '../../access/audit/verify.ts';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Condition, Document, DocumentPage, DocumentStore } from '../../store/documents.ts';
import { callerOf } from '../kit/caller.ts';
import { optionalTime, timeText } from '../kit/time.ts';
import { type LogReachDeps, workspaceOfLogs } from '../logs/reach.ts';

const DEFAULT_PAGE_SIZE = 100;
/** Entries of one read of an export. */
const EXPORT_BATCH = 200;

/** What the service needs. */
export interface AuditLogsDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
  /** Makes all recorded entries readable. */
  readonly flush: () => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The common part of lists and exports. */
type Filters = Omit<ExportAuditLogsRequest, '$typeName' | '$unknown'>;

/** Which entries a request is for; undefined: none can match. */
interface Selection {
  readonly scope: TenantScope;
  readonly filter: readonly Condition[];
}

/** The methods of AuditLogsService. */
export function auditLogsService(deps: AuditLogsDeps) {
  const { documents, flush, now } = deps;
  return {
    async listAuditLogs(request: ListAuditLogsRequest, call: Call): Promise<AuditLogList> {
      const selection = await selectionOf(deps, callerOf(call), request);
      const { pageSize = DEFAULT_PAGE_SIZE, currentPage = 0 } = request;
      // A caller who reads after a call expects to find it.
      await flush();
      const page: DocumentPage<AuditEntryBody> = selection
        ? await documents.page(selection.scope, auditEntries, {
            filter: selection.filter,
            sort: { field: 'createdAt', order: 'desc' },
            page: currentPage,
            pageSize: Math.max(1, pageSize),
          })
        : { documents: [], total: 0, totalCapped: false };
      return create(AuditLogListSchema, {
        object: 'analytics-graph',
        total: BigInt(page.total),
        totalCapped: page.totalCapped,
        records: page.documents.slice(0, pageSize).map(record),
      });
    },

    async exportAuditLogs(
      request: ExportAuditLogsRequest,
      call: Call,
    ): Promise<AsyncIterable<AuditLogRecord>> {
      const selection = await selectionOf(deps, callerOf(call), request);
      await flush();
      if (selection === undefined) return noRecords();
      // Entries written while it runs, its own among them, are left out.
      const until: Condition = { field: 'createdAt', op: 'lte', value: now() };
      const read = (cursor: string | undefined): Promise<DocumentPage<AuditEntryBody>> =>
        documents.page(selection.scope, auditEntries, {
          filter: [...selection.filter, until],
          pageSize: EXPORT_BATCH,
          ...(cursor === undefined ? {} : { cursor }),
        });
      // The first is read before the answer begins, so that trouble keeps its status.
      return recordsOf(await read(undefined), read, call);
    },

    async verifyAuditLogs(request: VerifyAuditLogsRequest, call: Call): Promise<AuditLogProof> {
      const { organisationId } = callerOf(call);
      const { sequence, hash } = request;
      const anchor =
        sequence === undefined || hash === undefined ? undefined : { sequence: Number(sequence), hash };
      const proof = await verifyChain(documents, organisationId, anchor, call.signal);
      const { break: fault } = proof;
      return create(AuditLogProofSchema, {
        object: 'audit-proof',
        valid: fault === undefined,
        entries: BigInt(proof.entries),
        sequence: BigInt(proof.sequence),
        hash: proof.hash,
        ...(fault ? { break: { ...fault, sequence: BigInt(fault.sequence) } } : {}),
      });
    },
  };
}

async function* noRecords(): AsyncGenerator<AuditLogRecord> {}

async function* recordsOf(
  first: DocumentPage<AuditEntryBody>,
  read: (cursor: string) => Promise<DocumentPage<AuditEntryBody>>,
  call: Call,
): AsyncGenerator<AuditLogRecord> {
  for (let page = first; ; page = await read(page.nextCursor)) {
    for (const document of page.documents) yield record(document);
    if (page.nextCursor === undefined) return;
    if (call.signal.aborted) throw call.signal.reason;
  }
}

/** @throws GatewayError validation_failed for times and contradictions, not_found for another organisation. */
async function selectionOf(
  deps: LogReachDeps,
  principal: Principal,
  request: Filters,
): Promise<Selection | undefined> {
  const { organisationId } = principal;
  if (request.organisationId !== undefined && request.organisationId !== organisationId)
    throw fail('not_found', 'there is no such organisation');
  const { userId, actor, workspaceId, country } = request;
  if (userId !== undefined && actor !== undefined && userId !== actor)
    throw invalidField('actor', 'must be the same as user_id');
  const filter: Condition[] = timeRange(request);
  const equal = (field: string, value: string | number | undefined): void => {
    if (value !== undefined) filter.push({ field, op: 'eq', value });
  };
  equal('method', request.method);
  equal('path', request.uri?.replace(/^\/v[12](?=\/)/, ''));
  equal('requestId', request.requestId);
  equal('actorId', userId ?? actor);
  equal('actorType', request.userType);
  equal('statusCode', request.responseStatusCode);
  equal('resourceType', request.resourceType);
  equal('action', request.action);
  equal('clientIp', request.clientIp);
  equal('targetId', request.targetId);
  equal('outcome', request.outcome);
  if (country !== undefined) return undefined;
  const workspace = await workspaceOfLogs(deps, principal, workspaceId, 'workspace_id');
  return { scope: { organisationId, workspaceId: workspace }, filter };
}

function timeRange({ startTime, endTime }: Filters): Condition[] {
  const from = optionalTime('start_time', startTime);
  const until = optionalTime('end_time', endTime);
  if (from !== undefined && until !== undefined && from >= until)
    throw invalidField('end_time', 'must be after start_time');
  return [
    ...(from === undefined ? [] : [{ field: 'createdAt', op: 'gte', value: from } as const]),
    ...(until === undefined ? [] : [{ field: 'createdAt', op: 'lt', value: until } as const]),
  ];
}

/** An entry as callers see it. */
function record({ organisationId, body }: Document<AuditEntryBody>): AuditLogRecord {
  const { actor, token } = body;
  return create(AuditLogRecordSchema, {
    object: 'audit-log',
    sequence: BigInt(body.sequence),
    timestamp: timeText(body.at),
    organisationId,
    workspaceId: body.workspaceId,
    method: body.method,
    uri: body.path,
    requestId: body.requestId,
    requestHeaders: JSON.stringify(token === undefined ? {} : { 'x-gateway-api-key': token }),
    userId: actor.id,
    userType: actor.type,
    userName: actor.name,
    role: actor.role,
    apiKeyId: actor.keyId,
    responseStatusCode: body.statusCode,
    resourceType: body.resourceType,
    action: body.action,
    clientIp: body.clientIp,
    country: '',
    target: body.target,
    outcome: body.outcome,
    reason: body.reason,
    detail: body.detail,
    changes: body.changes.map((change) => ({ ...change }) as unknown as JsonObject),
    changesTruncated: body.changesTruncated,
    operation: body.operation,
    protocol: body.protocol,
    hash: body.hash,
    previousHash: body.previousHash,
  });
}
