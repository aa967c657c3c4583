// What the entry of a tool call says of it, from the beginning: a call that a limit refuses has it, too.
import type { Call } from '../../call/call.ts';
import { readMetadata } from '../../inference/plan/request-settings.ts';
import { GatewayError } from '../../lib/errors.ts';
import { isModernVersion } from '../wire/eras.ts';
import type { RpcRequest } from '../wire/json-rpc.ts';
import { type BodyRules, keepBodies } from './kept-bodies.ts';
import { entryNameOf, MCP_PROVIDER } from './tool-attempt.ts';

/** @param slug of the server @param bodies whether arguments and results are kept */
export function noteCall(
  call: Call,
  { id, method, params = {} }: RpcRequest,
  slug: string,
  tool: string,
  bodies: BodyRules,
): void {
  const { headers, record, identity } = call;
  const version = headers.plain('mcp-protocol-version');
  record.mcp = {
    method,
    tool,
    requestId: id,
    protocolVersion: version,
    sessionId: isModernVersion(version ?? '') ? undefined : headers.plain('mcp-session-id'),
    errorType: undefined,
  };
  record.provider = MCP_PROVIDER;
  record.model = entryNameOf(slug, tool);
  record.virtualKey = slug;
  record.metadata = metadataOf(call);
  call.bodyBytes = 0;
  keepBodies(call, identity?.principal.workspaceId, bodies);
  if (call.bodies) call.bodies.request = () => JSON.stringify(params);
}

/** Metadata that cannot be read is told by the operation itself. */
function metadataOf({ headers }: Call): Call['record']['metadata'] {
  try {
    return readMetadata(headers);
  } catch (error) {
    if (error instanceof GatewayError) return {};
    throw error;
  }
}
