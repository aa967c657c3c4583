// Failures as answers of the protocol.
import type { McpReply } from './gateway-deps.ts';
import { JSON_HEADERS } from './relay/own-answer.ts';
import { McpError, RPC } from './wire/mcp-error.ts';

export function errorReply(error: McpError): McpReply {
  return {
    status: error.status,
    headers: [...JSON_HEADERS, ...(error.rpc.headers ?? [])],
    body: error.text(),
  };
}

export function notAllowed(): McpError {
  return new McpError(RPC.refused, 'Method not allowed', { status: 405, headers: [['allow', 'POST']] });
}
