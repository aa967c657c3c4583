// Where an upstream is, and with which headers it is called for one caller.
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Principal } from '../../call/principal.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { withSecrets } from '../../secrets/mappings.ts';
import { isAllowedHost } from '../../secrets/references.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { McpDeps } from '../deps.ts';
import { callerOf } from '../session-ids.ts';

/** A request to an operation of this gateway. */
export interface OwnRequest {
  readonly method: string;
  /** With the base path and the query. */
  readonly path: string;
  readonly body: string | undefined;
}

export interface OwnAnswer {
  readonly status: number;
  /** JSON. */
  readonly text: string;
}

/** An upstream as one caller reaches it. */
export interface Target {
  readonly origin: string;
  readonly path: string;
  /** Flat pairs: custom headers, those of the caller that are passed through, and credentials. */
  readonly headers: readonly string[];
  /** Set for a REST API: its tools are called in its place. */
  readonly rest?: McpServer;
  /** Set where its tools are operations of this gateway: runs one for the caller. */
  readonly callOwn?: (request: OwnRequest, signal: AbortLike) => Promise<OwnAnswer>;
  /** It speaks the HTTP+SSE transport of revision 2024-11-05. */
  readonly isSse?: boolean;
  /** A program of the operator's settings; its origin is `stdio:<name>`. */
  readonly isProgram?: boolean;
  /** Whose sessions they are. */
  readonly owner?: string;
}

/** Headers that the gateway or the protocol writes itself: they come from no one else. */
const OWN = new Set([
  ...[
    'host',
    'connection',
    'content-length',
    'content-type',
    'transfer-encoding',
    'upgrade',
    'te',
    'trailer',
  ],
  ...['accept', 'accept-encoding', 'keep-alive', 'proxy-authorization', 'expect'],
  ...['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
]);
/** Headers of a caller that never go to an upstream, whatever is configured. */
const NEVER_PASSED = new Set([...OWN, 'cookie', 'origin']);

/**
 * @param isOwnKey whether a text is a key or token of this gateway, which goes nowhere
 * @throws GatewayError host_refused, forbidden, secret_unavailable; what `auth` throws
 */
export async function targetOf(
  { secrets, auth }: Pick<McpDeps, 'secrets' | 'auth'>,
  server: McpServer,
  principal: Principal,
  headers: GatewayHeaders,
  isOwnKey: (text: string) => boolean,
): Promise<Target> {
  const { body } = server.integration;
  if (body.transport === 'stdio')
    return { origin: body.url, path: '', headers: [], isProgram: true, owner: callerOf(principal) };
  const url = new URL(body.url);
  const custom = await customHeaders(secrets, server, url.origin);
  const credentials = await auth.headersFor(server, principal);
  const own = new Set(
    [...custom, ...credentials].filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()),
  );
  const passed = (body.passthroughHeaders ?? []).flatMap((name) => {
    const lower = name.toLowerCase();
    if (NEVER_PASSED.has(lower) || own.has(lower) || headers.names.owns(lower)) return [];
    const value = headers.plain(lower);
    return value === undefined || carriesKey(value, isOwnKey) ? [] : [lower, value];
  });
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    headers: [...custom, ...credentials, ...passed],
    ...(body.transport === 'openapi' ? { rest: server } : {}),
    isSse: body.transport === 'sse',
  };
}

/** Whether any part of a header is a key or token of this gateway, e.g. `Bearer <key>` or `key=<key>`. */
function carriesKey(value: string, isOwnKey: (text: string) => boolean): boolean {
  return value.split(/[\s,;="']+/).some((part) => part !== '' && isOwnKey(part));
}

async function customHeaders(
  secrets: McpDeps['secrets'],
  server: McpServer,
  origin: string,
): Promise<readonly string[]> {
  const { body } = server.integration;
  const plain: JsonObject = { ...body.secrets?.customHeaders };
  const mappings = (body.secretMappings ?? []).filter(({ targetField }) =>
    targetField.startsWith('configurations.custom_headers'),
  );
  if (mappings.length === 0) return flat(plain);
  const { organisationId, workspaceId } = server;
  for (const { secretReferenceId } of mappings) {
    const hosts = secrets.hostsOf(organisationId, workspaceId, secretReferenceId);
    if (hosts !== undefined && !isAllowedHost(hosts, origin))
      throw fail('forbidden', `a secret of the MCP server ${server.slug} is not bound to the server's host`);
  }
  const tenant = { organisationId, workspaceId };
  const fields = { configurations: { custom_headers: plain } };
  const filled = await withSecrets(fields, mappings, tenant, secrets.resolve);
  return flat((filled.configurations as JsonObject).custom_headers as JsonObject);
}

function flat(headers: JsonObject): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && !OWN.has(name.toLowerCase()) ? [name, value] : [],
  );
}
