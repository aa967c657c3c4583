// Which generation of the protocol a request speaks. From revision 2026-07-28 on, the version and the capabilities
// travel in `_meta` of each request, and headers repeat what a proxy may route by: they must agree with the body.

import { type HeaderOf, mismatch, told } from './header-mismatch.ts';
import {
  isRequest,
  type JsonObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
} from './json-rpc.ts';
import { McpError, RPC } from './mcp-error.ts';
import { decodedHeader } from './param-headers.ts';

export type Era = 'modern' | 'legacy';

export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  subscription: 'io.modelcontextprotocol/subscriptionId',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** The first revision without sessions. */
export const FIRST_MODERN = '2026-07-28';
export const MODERN_VERSIONS: readonly string[] = [FIRST_MODERN];
/** Revisions with sessions, newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

export function isModernVersion(version: string): boolean {
  return VERSION.test(version) && version >= FIRST_MODERN;
}

/** What `Mcp-Name` repeats, by method. */
export const NAME_FIELDS: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * The era of a message, its headers checked.
 * @throws McpError -32020 headers that disagree with the body, -32022 unknown revision, -32602 `_meta`
 */
export function eraOf(message: RpcMessage, header: HeaderOf): Era {
  const headerVersion = header('mcp-protocol-version')?.trim();
  const modernHeader = headerVersion !== undefined && isModernVersion(headerVersion);
  if (!('method' in message)) {
    if (!modernHeader) return 'legacy';
    throw new McpError(RPC.invalidRequest, 'this revision has no requests from server to client to answer');
  }
  const meta = metaOf(message);
  const claimed = meta?.[META.version];
  if (claimed === undefined && !modernHeader) {
    return 'legacy';
  }
  if (isRequest(message)) checkRequest(message, meta, headerVersion, header);
  else checkNotification(message, claimed, headerVersion, header);
  return 'modern';
}

export function metaOf({ params }: RpcRequest | RpcNotification): JsonObject | undefined {
  const meta = params?._meta;
  return typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? (meta as JsonObject) : undefined;
}

function checkRequest(
  request: RpcRequest,
  meta: JsonObject | undefined,
  headerVersion: string | undefined,
  header: HeaderOf,
): void {
  const { id, method } = request;
  const claimed = meta?.[META.version];
  if (method === 'initialize' && claimed === undefined)
    throw mismatch(
      id,
      headerVersion,
      'initialize belongs to revisions before the one in MCP-Protocol-Version',
    );
  if (typeof claimed !== 'string')
    throw new McpError(RPC.invalidParams, `Invalid params: _meta["${META.version}"] is missing`, { id });
  if (headerVersion !== undefined && headerVersion !== claimed)
    throw mismatch(id, headerVersion, `the body names protocol version ${told(claimed)}`);
  if (!MODERN_VERSIONS.includes(claimed)) throw unsupported(id, claimed);
  const capabilities = meta?.[META.clientCapabilities];
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities))
    throw new McpError(RPC.invalidParams, `Invalid params: _meta["${META.clientCapabilities}"] is missing`, {
      id,
    });
  if (headerVersion === undefined)
    throw mismatch(id, undefined, 'the header MCP-Protocol-Version is missing');
  checkMethod(id, method, header, true);
  checkName(request, header);
}

function checkNotification(
  { method }: RpcNotification,
  claimed: unknown,
  headerVersion: string | undefined,
  header: HeaderOf,
): void {
  if (claimed !== undefined && headerVersion !== undefined && claimed !== headerVersion)
    throw mismatch(null, headerVersion, 'the body names another protocol version');
  const version = claimed ?? headerVersion;
  if (typeof version !== 'string' || !MODERN_VERSIONS.includes(version))
    throw unsupported(null, typeof version === 'string' ? version : '');
  checkMethod(null, method, header, false);
}

function checkMethod(id: RpcRequest['id'] | null, method: string, header: HeaderOf, needed: boolean): void {
  const named = header('mcp-method')?.trim();
  if (named === undefined && !needed) return;
  if (named === undefined) throw mismatch(id, undefined, 'the header Mcp-Method is missing');
  if (named !== method) throw mismatch(id, named, `the body names method ${told(method)}`);
}

function checkName({ id, method, params }: RpcRequest, header: HeaderOf): void {
  const field = Object.hasOwn(NAME_FIELDS, method) ? NAME_FIELDS[method] : undefined;
  if (field === undefined) return;
  const value = params?.[field];
  const named = header('mcp-name')?.trim();
  if (named === undefined) {
    if (typeof value === 'string') throw mismatch(id, undefined, 'the header Mcp-Name is missing');
    return;
  }
  const decoded = decodedHeader(named);
  if (decoded === undefined) throw mismatch(id, named, 'the header Mcp-Name is not valid Base64');
  if (typeof value === 'string' && decoded !== value)
    throw mismatch(id, named, `the body carries params.${field}=${told(value)}`);
}

export function unsupported(id: RpcRequest['id'] | null, requested: string): McpError {
  return new McpError(RPC.unsupportedVersion, `Unsupported protocol version: ${told(requested)}`, {
    id,
    data: { supported: MODERN_VERSIONS, requested: told(requested) },
  });
}
