// This gateway's own operations as MCP tools at /admin/mcp: those that the settings name. Each call runs with the key that
// the caller sent, through the same interceptors and services as over REST.
import { fileURLToPath } from 'node:url';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { capabilityHash } from '../access/mcp/capability-hash.ts';
import type { McpReplica } from '../access/mcp/mcp-replica.ts';
import { McpServer } from '../access/mcp/mcp-server.ts';
import type { CompiledDocument } from '../admin/mcp-openapi/compile-document.ts';
import { Call } from '../call/call.ts';
import { controlInput } from '../edge/control-input.ts';
import { toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { readPacked } from '../lib/packed-file.ts';
import { type GatewayDeps, OWN_OPERATIONS } from '../mcp/gateway-deps.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from '../rest/error-body.ts';
import { formOf } from '../rest/form-shape.ts';
import type { Route, RouteTable } from '../rest/routes.ts';
import type { InProcess } from '../rpc/in-process.ts';
import type { Json, JsonObject } from '../store/collection.ts';

const OPENAPI = new URL('../../gen/openapi.json', import.meta.url);
/** Reserved: no server of a workspace has it. */
const SLUG = 'admin';
const BASE = '/v1';

type CallOwn = GatewayDeps['callOwn'];

/** The chosen operations as tools. @throws Error for people, naming the setting */
export async function readOwnOperations(chosen: readonly string[]): Promise<CompiledDocument | undefined> {
  if (chosen.length === 0) return undefined;
  const { compileDocument } = await import('../admin/mcp-openapi/compile-document.ts');
  const document = JSON.parse((await readPacked(fileURLToPath(OPENAPI))).toString('utf8')) as JsonObject;
  const compiled = compileDocument(controlPlaneOf(document), chosen);
  if (!('fault' in compiled)) return compiled;
  const [, index] = /\[(\d+)\]/.exec(compiled.fault) ?? [];
  const name = index === undefined ? '' : `${chosen[Number(index)]} `;
  throw new Error(`GATEWAY_MCP_OPERATIONS: ${name}${compiled.message}`);
}

/** Operations of the control plane, without the gateway's own headers: those are the client's own. */
function controlPlaneOf(document: JsonObject): JsonObject {
  const components = objectOf(objectOf(document.components).parameters);
  const isHeader = (one: Json): boolean => {
    const { $ref, in: place } = objectOf(one);
    const named = typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : '';
    return (place ?? objectOf(components[named]).in) === 'header';
  };
  const kept = ([verb, given]: [string, Json | undefined]): [string, Json][] => {
    const operation = objectOf(given);
    const { method } = objectOf(operation['x-sluice-rpc']);
    if (typeof method !== 'string' || !method.startsWith('gateway.admin.')) return [];
    const { parameters = [] } = operation;
    const own = (parameters as readonly Json[]).filter((one) => !isHeader(one));
    return [[verb, { ...operation, parameters: own }]];
  };
  const paths = Object.entries(objectOf(document.paths)).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(objectOf(item)).flatMap(kept)),
  ]);
  return { ...document, paths: Object.fromEntries(paths) as JsonObject };
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** The replica with the server of own operations in every workspace; the replica itself where none are chosen. */
export function withOwnOperations(
  replica: McpReplica,
  compiled: CompiledDocument | undefined,
): GatewayDeps['replica'] {
  if (compiled === undefined) return replica;
  const made = new Map<string, McpServer>();
  const own = (organisationId: string, workspaceId: string): McpServer => {
    const known = made.get(workspaceId);
    if (known !== undefined) return known;
    const server = ownServer(compiled, organisationId, workspaceId);
    // Workspaces are few; those that are gone are not worth their place.
    if (made.size > 10_000) made.clear();
    made.set(workspaceId, server);
    return server;
  };
  return {
    serverBySlug: (organisationId, workspaceId, slug) =>
      slug === SLUG
        ? own(organisationId, workspaceId)
        : replica.serverBySlug(organisationId, workspaceId, slug),
    serversOf: (organisationId, workspaceId) => [
      own(organisationId, workspaceId),
      ...replica.serversOf(organisationId, workspaceId),
    ],
    connectionOf: (organisationId, serverId, userId) =>
      replica.connectionOf(organisationId, serverId, userId),
    onChanged: (listener) => replica.onChanged(listener),
  };
}

function ownServer(compiled: CompiledDocument, organisationId: string, workspaceId: string): McpServer {
  const id = OWN_OPERATIONS;
  const times = { createdAt: 0, updatedAt: 0, version: 1 };
  const place = { id, organisationId, ...times, status: 'active', schemaVersion: 1 } as const;
  const named = { name: 'Operations of the gateway', ownerId: '' };
  const capabilities = compiled.described.map(({ type, name, described }) => {
    const hash = capabilityHash(type, name, described);
    return { type, name, described, hash, pinned: hash, createdAt: 0, updatedAt: 0 };
  });
  const info = { serverName: 'sluice', title: compiled.title, serverVersion: compiled.version };
  return new McpServer({
    server: { ...place, slug: SLUG, workspaceId, body: { ...named, integrationId: id } },
    integration: {
      ...place,
      slug: SLUG,
      workspaceId: undefined,
      body: {
        ...named,
        level: 'organisation',
        url: `http://sluice.invalid${BASE}`,
        transport: 'openapi',
        authType: 'none',
        globalAccess: { enabled: true },
      },
    },
    catalogue: {
      ...place,
      slug: undefined,
      workspaceId: undefined,
      body: { integrationId: id, info, syncStatus: 'synced', capabilities },
    },
    openApi: {
      ...place,
      slug: undefined,
      workspaceId: undefined,
      body: {
        integrationId: id,
        title: compiled.title,
        version: compiled.version,
        document: {},
        operations: compiled.operations,
        tools: compiled.tools,
      },
    },
  });
}

/** Of the caller's headers an operation gets these. */
const PASSED = ['authorization', 'x-forwarded-for', 'forwarded', 'user-agent'];

/** @throws Error for people when a chosen operation is none of the control plane */
export function ownOperationCaller(
  chosen: readonly string[],
  routes: RouteTable,
  transport: InProcess,
): CallOwn {
  const allowed = new Set<unknown>();
  for (const name of chosen) {
    const route = routes.routes.find(({ method }) => method.name === name);
    if (route === undefined || !isPlain(route))
      throw new Error(
        `GATEWAY_MCP_OPERATIONS: ${name} is no operation of the control plane that can be a tool`,
      );
    allowed.add(route.method);
  }
  return async (outer, { method, path, body }, signal) => {
    const [plain = '', query = ''] = path.slice(BASE.length).split('?', 2);
    const match = routes.match(method, plain);
    if (match === undefined || !allowed.has(match.route.method)) return { status: 404, text: '{}' };
    const call = callWithin(outer, match.route, plain);
    const leave = (): void => call.abort(toGatewayError(signal.reason));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    try {
      const json: unknown = body === undefined ? (match.route.hasBody ? {} : undefined) : JSON.parse(body);
      const input = () => controlInput(call, match.route, match.values, query, json);
      const answer = await transport.unary(call, input);
      const text = JSON.stringify(codec.encode(match.route.method.output, answer));
      return { status: call.record.status ?? 200, text };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      return { status: error.status, text: JSON.stringify(errorBody(error, { plane: Plane.CONTROL })) };
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
}

function isPlain({ method, plane }: Route): boolean {
  return plane === Plane.CONTROL && method.methodKind === 'unary' && formOf(method) === undefined;
}

function callWithin(outer: Call, { method, verb }: Route, path: string): Call {
  const { headers, remote, connection } = outer.source;
  const { names, raw } = headers;
  const kept = [...PASSED, ...names.of('api-key')].flatMap((name) =>
    raw[name] === undefined ? [] : [[name, raw[name]] as const],
  );
  return new Call(method, {
    protocol: 'rest',
    headers: new GatewayHeaders(names, Object.fromEntries(kept)),
    httpMethod: verb,
    path,
    remote,
    ...(connection === undefined ? {} : { connection }),
  });
}
