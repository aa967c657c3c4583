// What a caller is told when the user must connect to an upstream, or connect again: where the client can be asked to open
// an address it is asked to (a result `input_required`, or the error -32042 of 2025-11-25), else an error with the link.
import { createHash } from 'node:crypto';
import { GatewayError } from '../../lib/errors.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { McpError, type RequestId, RPC } from '../wire/mcp-error.ts';

/** The user has to connect. */
export class ConnectionNeeded extends GatewayError {
  readonly link: string;
  readonly server: string;

  /** @param link where the user connects */
  constructor(server: string, link: string) {
    super('upstream_status', `the MCP server ${server} needs your consent: connect at ${link} and try again`);
    this.name = 'ConnectionNeeded';
    this.server = server;
    this.link = link;
  }
}

/** Other credentials are there now: the same request may be sent once more. */
export class CredentialsRenewed extends GatewayError {
  constructor() {
    super('upstream_status', 'the MCP server asks for credentials that were renewed meanwhile: try again');
    this.name = 'CredentialsRenewed';
  }
}

/** The key of the question in `inputRequests`. */
export const CONNECT_KEY = 'connect';

/** @param opens whether the client can be asked to open an address by an error (2025-11-25) */
export function connectionError(
  { server, link, message }: ConnectionNeeded,
  id: RequestId | null,
  opens: boolean,
): McpError {
  const data = { reason: 'connection_needed', server, url: link };
  if (!opens) return new McpError(RPC.refused, message, { id, status: 200, data });
  const elicitationId = createHash('sha256').update(`${server} ${link}`).digest('hex').slice(0, 32);
  const elicitations = [{ mode: 'url', elicitationId, url: link, message: words(server) }];
  return new McpError(RPC.urlElicitation, message, { id, status: 200, data: { ...data, elicitations } });
}

/** The result of revision 2026-07-28 that asks the user to open the link. @param requestState what the client brings back */
export function connectionAsked({ server, link }: ConnectionNeeded, requestState: string): JsonObject {
  const params = { mode: 'url', url: link, message: words(server) };
  const inputRequests = { [CONNECT_KEY]: { method: 'elicitation/create', params } };
  return { resultType: 'input_required', inputRequests, requestState };
}

function words(server: string): string {
  return `Connect to ${server}`;
}
