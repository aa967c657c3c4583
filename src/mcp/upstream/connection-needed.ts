// What a caller is told when the user must connect to an upstream, or connect again: an error of the protocol with the
// link; for clients of 2025-11-25 the one that asks them to open it.
import { createHash } from 'node:crypto';
import { GatewayError } from '../../lib/errors.ts';
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

/** @param opens whether the client can be asked to open an address by an error (2025-11-25) */
export function connectionError(
  { server, link, message }: ConnectionNeeded,
  id: RequestId | null,
  opens: boolean,
): McpError {
  const data = { reason: 'connection_needed', server, url: link };
  if (!opens) return new McpError(RPC.refused, message, { id, status: 200, data });
  const elicitationId = createHash('sha256').update(`${server} ${link}`).digest('hex').slice(0, 32);
  const elicitations = [{ mode: 'url', elicitationId, url: link, message: `Connect to ${server}` }];
  return new McpError(RPC.urlElicitation, message, { id, status: 200, data: { ...data, elicitations } });
}
