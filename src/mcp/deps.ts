// What the MCP gateway needs of the other rooms.
import type { McpReplica } from '../access/mcp/mcp-replica.ts';
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Principal } from '../call/principal.ts';
import type { Dialer } from '../lib/egress/outbound.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Lines } from './lines/lines.ts';
import type { TaskIds } from './tasks/task-ids.ts';

/** Bounds, from the settings. */
export interface McpBounds {
  /** Longest silence of an upstream within an answer, in milliseconds. */
  readonly silenceMs: number;
  /** Longest message in either direction, in bytes. */
  readonly messageBytes: number;
}

/** How the gateway proves itself to an upstream for a caller. */
export interface UpstreamAuth {
  /**
   * Headers as flat pairs; empty: none are needed.
   * @throws GatewayError, McpError when the user must connect first
   */
  headersFor(server: McpServer, principal: Principal): Promise<readonly string[]> | readonly string[];
  /** The upstream did not take what `headersFor` gave. @returns the error to tell; `CredentialsRenewed` to try once more */
  refused(server: McpServer, principal: Principal, refusal: UpstreamRefusal): Promise<Error>;
}

/** An upstream's 401 or 403. */
export interface UpstreamRefusal {
  readonly status: number;
  /** Its WWW-Authenticate. */
  readonly challenge: string | undefined;
  /** The bearer token that was sent. */
  readonly sent: string | undefined;
}

export interface McpDeps {
  readonly replica: Pick<McpReplica, 'serverBySlug' | 'serversOf' | 'connectionOf' | 'onChanged'>;
  /** Opens connections within the bound of the settings. */
  readonly dialer: Pick<Dialer, 'stream'>;
  /** Connections to servers of the HTTP+SSE transport. */
  readonly lines: Pick<Lines, 'exchange' | 'close'>;
  /** Programs that the operator's settings name. */
  readonly programs: Pick<Lines, 'exchange' | 'close'>;
  readonly secrets: Pick<Secrets, 'resolve' | 'hostsOf'>;
  readonly auth: UpstreamAuth;
  readonly tasks: TaskIds;
  /** Whether guardrails check results of any of a server's tools. */
  readonly checksResults: (server: McpServer) => boolean;
  readonly bounds: McpBounds;
  /** 32 bytes, the same for all instances. */
  readonly secret: Uint8Array;
}
