// The MCP gateway's data plane, put together. Its tool calls go through the transport of all calls, which is made later.
import { McpService } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import { guardrailDefaultsOf } from '../access/guardrail-defaults.ts';
import { ChangedToolMarks } from '../access/mcp/mark-changed-tools.ts';
import { admission, isStillValid } from '../access/still-valid.ts';
import type { CompiledDocument } from '../admin/mcp-openapi/compile-document.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import { createDialer } from '../lib/egress/dialer.ts';
import { mcpService } from '../mcp/calls/call-tool.ts';
import { toolGuards } from '../mcp/calls/guard-tools.ts';
import { McpGateway } from '../mcp/gateway.ts';
import type { GatewayDeps } from '../mcp/gateway-deps.ts';
import { Lines } from '../mcp/lines/lines.ts';
import { SseLine } from '../mcp/sse/sse-line.ts';
import { stdioFetch } from '../mcp/stdio/stdio-fetch.ts';
import { stdioLines } from '../mcp/stdio/stdio-lines.ts';
import { TaskIds } from '../mcp/tasks/task-ids.ts';
import { storedAuth } from '../mcp/upstream/stored-auth.ts';
import { annotationsOf, type RouteTable } from '../rest/routes.ts';
import type { InProcess } from '../rpc/in-process.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';
import { openMcpOauth } from './open-mcp-oauth.ts';
import type { OpenPipeline } from './open-pipeline.ts';
import type { Replicas } from './open-replicas.ts';
import { ownOperationCaller, withOwnOperations } from './own-operations.ts';

export type Mcp = ReturnType<typeof openMcp>;

/** Connections to servers of the HTTP+SSE transport. */
const MOST_SSE = 2000;
/** Waits for a connection as the common dialer does, unless the settings say otherwise. */
const USUAL_CONNECT_MS = 10_000;

export function openMcp(
  base: Base & { readonly operations: CompiledDocument | undefined },
  identity: Identity,
  replicas: Replicas,
  { callBooks }: Ledger,
  opened: OpenPipeline,
  publicUrl: () => string,
) {
  const { settings, stores, log, operations } = base;
  const { keys, tokens, grants, directory, dialer: common, egress } = identity;
  const { mcp: replica, guardrails } = replicas;
  const { secrets, pipeline } = opened;
  const oauth = openMcpOauth(base, identity, replicas, opened);
  const defaultsOf = guardrailDefaultsOf(directory);
  const marks = new ChangedToolMarks({
    replica,
    documents: stores.documents,
    systemChanges: identity.auditLog.systemChanges,
    now: Date.now,
    failed: (error) => log.warn({ err: error }, 'a changed description of an MCP tool could not be stored'),
  });
  const connectTimeoutMs = settings.mcpConnectMs;
  const dialer =
    connectTimeoutMs === USUAL_CONNECT_MS ? common : createDialer({ ...egress, connectTimeoutMs });
  let transport: InProcess | undefined;
  const admit = admission(annotationsOf(McpService.method.callTool).access, directory);
  const callTool: GatewayDeps['callTool'] = async (call, request) => {
    if (transport === undefined) throw new Error('the transport is not there yet');
    return (await transport.stream(call, request)) as Awaited<ReturnType<GatewayDeps['callTool']>>;
  };
  const bounds = { silenceMs: settings.mcpSilenceMs, messageBytes: settings.bodyLimit };
  const programs = stdioLines({
    commands: settings.mcpStdio,
    most: settings.mcpStdioProcesses,
    messageBytes: bounds.messageBytes,
    log,
  });
  let callOwn: GatewayDeps['callOwn'] | undefined;
  const gateway = new McpGateway({
    replica: withOwnOperations(replica, operations),
    hasOperations: operations !== undefined,
    callOwn: (outer, request, signal) => {
      if (callOwn === undefined) throw new Error('the transport is not there yet');
      return callOwn(outer, request, signal);
    },
    dialer,
    lines: new Lines({
      make: (target, over) => new SseLine({ dialer, bounds }, target, over),
      most: MOST_SSE,
    }),
    programs,
    secrets,
    auth: storedAuth({ ...oauth, publicUrl }),
    tasks: new TaskIds(stores.hashSecret),
    checksResults: (server) => server.checksResults || (defaultsOf(server)?.output.length ?? 0) > 0,
    bounds,
    searchesTools: settings.mcpToolSearch,
    secret: stores.hashSecret,
    bodies: callBooks,
    callTool,
    admit,
    isStillValid: (call) => {
      const key = call.identity?.key ?? '';
      return grants.isSecret(key)
        ? isStillGranted(grants, call, admit)
        : isStillValid(call, { keys, tokens }, admit);
    },
    workspaceId: (organisationId, idOrSlug) => directory.workspace(organisationId, idOrSlug)?.id,
    isOwnKey: (text) => keys.find(text) !== undefined || tokens.isOurs(text) || grants.isSecret(text),
  });
  const guards = toolGuards({
    runner: pipeline.checks.runner,
    find: (tenant, id) => guardrails.find(tenant, id),
    defaultsOf,
  });
  return {
    gateway,
    service: mcpService({
      guards,
      fromRpc: (request, call) => gateway.fromRpc(request, call),
    }),
    oauth,
    /** For the control plane's own readings of programs. */
    programs: {
      names: [...settings.mcpStdio.keys()],
      fetchOf: (url: string, owner: string) => stdioFetch(programs, url, owner),
    },
    /** Called once, before the port is open. */
    callsThrough(made: InProcess, routes: RouteTable): void {
      transport = made;
      callOwn = ownOperationCaller(settings.mcpOperations, routes, made);
    },
    async close(): Promise<void> {
      marks.close();
      if (dialer !== common) await dialer.close();
    },
  };
}

/** Asks again whether a client's access token, and the person who granted it, may still call. */
async function isStillGranted(
  grants: Identity['grants'],
  call: Call,
  admit: (principal: Principal) => void,
): Promise<boolean> {
  const { key, principal } = call.identity ?? {};
  if (key === undefined || principal === undefined || !grants.isStillGranted(key)) return false;
  try {
    admit(principal);
    return true;
  } catch {
    return false;
  }
}
