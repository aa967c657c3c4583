// Stores what is known of an integration's server: read from it, or told by a caller. For integrations and servers alike.
import type {
  McpCatalogueBody,
  McpIntegrationBody,
  McpServerInfo,
} from '../../access/mcp/mcp-collections.ts';
import { mcpCatalogues } from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import { GatewayError } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { resource } from '../kit/resource.ts';
import { retryUntilFree } from '../kit/retry-until-free.ts';
import { type Described, newCatalogue, synced, unsynced } from './catalogue.ts';
import type { McpDeps } from './deps.ts';
import { readServer } from './read-server.ts';
import { wayTo } from './way.ts';

/** What a caller tells; neither member: the server itself is asked. */
export interface Told {
  readonly info?: McpServerInfo | undefined;
  readonly capabilities?: readonly Described[] | undefined;
}

export interface SyncOutcome {
  readonly success: boolean;
  readonly message?: string;
  readonly details?: JsonObject;
}

type Integration = Document<McpIntegrationBody>;

/**
 * Reads and stores, or stores. What the audit log shows is the record of the server, not its tools.
 * @throws GatewayError what the store throws; a server that cannot be read is an outcome
 */
export async function syncServer(
  deps: McpDeps,
  call: Call,
  integration: Integration,
  told: Told,
  serverId?: string,
): Promise<SyncOutcome> {
  const caller = callerOf(call);
  if (told.info !== undefined || told.capabilities !== undefined) {
    const after = await keep(deps, call, integration, (before) =>
      synced(before, told.info, told.capabilities, deps.now(), told.capabilities !== undefined),
    );
    return { success: true, details: detailsOf(after) };
  }
  if (integration.body.transport === 'openapi') return documented(deps, integration);
  try {
    const way = await wayTo(deps, caller, integration, serverId);
    const { info, capabilities } = await readServer(deps.dialer, way, true);
    const after = await keep(deps, call, integration, (before) =>
      synced(before, info, capabilities, deps.now()),
    );
    return { success: true, details: detailsOf(after) };
  } catch (error) {
    if (!isOutcome(error)) throw error;
    await keep(deps, call, integration, (before) => unsynced(before, error.message));
    return { success: false, message: error.message, details: { code: error.reason } };
  }
}

/** Connects and stores nothing. @throws GatewayError as `syncServer` */
export async function testServer(
  deps: McpDeps,
  call: Call,
  integration: Integration,
  serverId?: string,
): Promise<SyncOutcome & { readonly ms?: number; readonly status?: number }> {
  if (integration.body.transport === 'openapi') return documented(deps, integration);
  try {
    const way = await wayTo(deps, callerOf(call), integration, serverId);
    const { info, connectMs } = await readServer(deps.dialer, way, false);
    const { serverName = null, serverVersion = null, protocolVersion = null } = info;
    return {
      success: true,
      ms: connectMs,
      status: 200,
      details: {
        server_name: serverName,
        server_version: serverVersion,
        protocol_version: protocolVersion,
        response_time_ms: connectMs,
      },
    };
  } catch (error) {
    if (!isOutcome(error)) throw error;
    const { status } = error.details;
    return {
      success: false,
      message: error.message,
      details: { code: error.reason },
      ...(error.reason === 'upstream_status' && status !== undefined ? { status } : {}),
    };
  }
}

/** A REST API has no server to ask: its stored document says everything. */
function documented({ mcp }: McpDeps, { organisationId, id }: Integration): SyncOutcome {
  const catalogue = mcp.catalogue(organisationId, id);
  if (catalogue?.body.syncStatus !== 'synced')
    return { success: false, message: 'there is no OpenAPI document yet: store one at /openapi' };
  return { success: true, details: detailsOf(catalogue.body) };
}

/** Writes the catalogue, with whatever else belongs to the same change. */
export async function keep(
  deps: McpDeps,
  call: Call,
  integration: Integration,
  change: (before: McpCatalogueBody) => McpCatalogueBody,
  also: readonly WriteOperation[] = [],
): Promise<McpCatalogueBody> {
  const { documents } = deps;
  const { id, workspaceId, organisationId } = integration;
  const stored = resource(deps, {
    collection: mcpCatalogues,
    noun: 'catalogue',
    shown: ({ body }) => auditedCatalogue(body),
    targetOf: () => ({ id, name: integration.body.name, workspaceId }),
    writesElsewhere: true,
  });
  return retryUntilFree(['integrationId', 'id'], async () => {
    const before = await documents.get(organisationOf(callerOf(call)), mcpCatalogues, id);
    const body = change(before?.body ?? newCatalogue(id));
    const kept =
      before === undefined
        ? stored.create(call, stored.draft({ organisationId, workspaceId }, body, { id }), {
            before: {},
            also,
          })
        : stored.update(call, before, stored.changed(before, body), { also });
    return (await kept).body;
  });
}

/** Errors of the way to the server, which are its state and no mistake of this call. */
function isOutcome(error: unknown): error is GatewayError {
  return (
    error instanceof GatewayError &&
    (error.reason.startsWith('upstream_') ||
      ['host_refused', 'secret_unavailable', 'forbidden'].includes(error.reason))
  );
}

function detailsOf({ capabilities, info }: McpCatalogueBody): JsonObject {
  const count = (type: string): number => capabilities.filter((one) => one.type === type).length;
  return {
    tools: count('tool'),
    prompts: count('prompt'),
    resources: count('resource'),
    resource_templates: count('resource_template'),
    changed: capabilities.filter(({ hash, pinned }) => hash !== pinned).length,
    protocol_version: info.protocolVersion ?? null,
  };
}

function auditedCatalogue(body: McpCatalogueBody): JsonObject {
  const { info, syncStatus, capabilities } = body;
  return {
    sync_status: syncStatus,
    server_name: info.serverName ?? null,
    server_version: info.serverVersion ?? null,
    protocol_version: info.protocolVersion ?? null,
    capabilities: Object.fromEntries(
      capabilities.map(({ type, name, hash }) => [`${type} ${name}`, hash.slice(0, 12)]),
    ),
  };
}
