// Which workspaces may use an MCP integration of the organisation.
import { create } from '@bufbuild/protobuf';
import {
  type McpIntegrationWorkspaceList,
  McpIntegrationWorkspaceListSchema,
  McpIntegrationWorkspaceSchema,
  type UpdateMcpIntegrationWorkspacesRequest,
} from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { McpAccess, McpIntegrationBody } from '../../access/mcp/mcp-collections.ts';
import type { Principal } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { defined, patch } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';

/** Workspaces that an integration has settings for. */
const MOST_WORKSPACES = 5000;

/**
 * The records for a caller: archived workspaces are left out, and a workspace's key sees its own alone.
 * @param inData whether they are in `data`
 */
export function mcpWorkspaceList(
  directory: Directory,
  caller: Pick<Principal, 'workspaceId'> | undefined,
  { organisationId, workspaceId, createdAt, updatedAt, body }: Document<McpIntegrationBody>,
  inData = false,
): McpIntegrationWorkspaceList {
  const own: Readonly<Record<string, McpAccess>> =
    workspaceId === undefined
      ? (body.workspaces ?? {})
      : { [workspaceId]: { enabled: true, createdAt, updatedAt } };
  const records = Object.entries(own).flatMap(([id, access]) => {
    const workspace = directory.workspace(organisationId, id);
    if (workspace === undefined) return [];
    if (caller?.workspaceId !== undefined && caller.workspaceId !== workspace.id) return [];
    return [
      create(McpIntegrationWorkspaceSchema, {
        id: caller?.workspaceId === undefined ? workspace.id : (workspace.slug ?? workspace.id),
        enabled: access.enabled,
        status: 'active',
        createdAt: timeText(access.createdAt),
        lastUpdatedAt: timeText(access.updatedAt),
      }),
    ];
  });
  return create(McpIntegrationWorkspaceListSchema, {
    total: BigInt(records.length),
    ...(inData ? { data: records } : { workspaces: records }),
    ...(body.globalAccess === undefined
      ? {}
      : { globalWorkspaceAccess: { enabled: body.globalAccess.enabled } }),
    object: 'integration',
  });
}

/** The body with the access that the call gives. @param at Unix milliseconds. @throws GatewayError validation_failed. */
export function mcpShared(
  directory: Directory,
  { body, organisationId }: Document<McpIntegrationBody>,
  request: UpdateMcpIntegrationWorkspacesRequest,
  at: number,
): McpIntegrationBody {
  if (body.level === 'workspace')
    throw invalidField('id', 'names an integration of one workspace: those of the organisation are shared');
  const fields = patch(request.clear, ['workspaces', 'global_workspace_access']);
  const override =
    request.overrideExistingWorkspaceAccess ?? request.overrideExistingWorkspacesAccess ?? false;
  const entries = new Map(override ? [] : Object.entries(body.workspaces ?? {}));
  const named = new Set<string>();
  for (const [i, { id, enabled = false }] of request.workspaces.entries()) {
    const field = `workspaces[${i}].id`;
    const workspace = directory.workspace(organisationId, id);
    if (workspace === undefined) throw invalidField(field, 'names no workspace of the organisation');
    if (named.has(workspace.id)) throw invalidField(field, 'is named twice');
    named.add(workspace.id);
    const before = body.workspaces?.[workspace.id];
    entries.set(workspace.id, { enabled, createdAt: before?.createdAt ?? at, updatedAt: at });
  }
  if (entries.size > MOST_WORKSPACES)
    throw invalidField('workspaces', `must be ${MOST_WORKSPACES} at the most: take global_workspace_access`);
  const global = request.globalWorkspaceAccess;
  return defined<McpIntegrationBody>({
    ...body,
    workspaces: entries.size > 0 ? Object.fromEntries(entries) : undefined,
    globalAccess: fields.optional(
      'global_workspace_access',
      global && { enabled: global.enabled ?? false },
      override ? undefined : body.globalAccess,
    ),
  });
}
