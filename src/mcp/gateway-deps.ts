// What the MCP gateway takes, gives and needs.
import type { CallToolRequest, CallToolResponse } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import type { AbortLike } from '../lib/abort.ts';
import type { BodyRules } from './calls/kept-bodies.ts';
import type { McpDeps } from './deps.ts';
import type { OwnAnswer, OwnRequest } from './upstream/target.ts';

/** Id of the server whose tools are operations of this gateway: no stored one has it. */
export const OWN_OPERATIONS = 'own-operations';

/** A request whose caller is known. */
export interface McpRequest {
  readonly verb: string;
  /** Slug of the server; undefined: all servers of the workspace. */
  readonly slug: string | undefined;
  /** Id or slug; undefined: the caller's. */
  readonly workspace: string | undefined;
  readonly call: Call;
  /** At the endpoint of all servers: whether tools are searched, in the place of a list of all; undefined: as the settings say. */
  readonly searchesTools?: boolean | undefined;
  /** Of a POST. */
  readonly body: Uint8Array | undefined;
}

/** An answer that has begun; of a stream the text comes as it does. */
export interface McpReply {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | AsyncIterable<string> | undefined;
}

export interface GatewayDeps extends McpDeps {
  readonly hasOperations: boolean;
  /** Runs an operation of this gateway with the credentials of a call. Never throws. */
  readonly callOwn: (outer: Call, request: OwnRequest, signal: AbortLike) => Promise<OwnAnswer>;
  /** Whether tools of the endpoint of all servers are searched where the client does not say. */
  readonly searchesTools: boolean;
  readonly bodies: BodyRules;
  /** Counts, limits and logs a tool call, and makes it. */
  readonly callTool: (call: Call, request: CallToolRequest) => Promise<AsyncIterable<CallToolResponse>>;
  /** Whether the caller may use MCP. @throws GatewayError forbidden */
  readonly admit: (principal: Principal) => void;
  /** Asks the same again, as things are now. */
  readonly isStillValid: (call: Call) => Promise<boolean>;
  /** Id of a workspace of the organisation, by id or slug. */
  readonly workspaceId: (organisationId: string, idOrSlug: string) => string | undefined;
  readonly isOwnKey: (text: string) => boolean;
}
