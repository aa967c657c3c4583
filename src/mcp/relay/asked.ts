// One request of a client, read and checked, on its way to an upstream.
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { OpenedTask } from '../tasks/task-ids.ts';
import type { Era } from '../wire/eras.ts';
import type { RpcMessage, RpcRequest, RpcResponse } from '../wire/json-rpc.ts';
import type { Frame } from '../wire/sse-frames.ts';
import type { Patience } from './patience.ts';

/** A message of a client. */
export interface Asked {
  readonly server: McpServer;
  readonly principal: Principal;
  readonly headers: GatewayHeaders;
  readonly era: Era;
  readonly message: RpcMessage;
  /** The message as it is sent on. */
  readonly text: string;
  /** The upstream's session; undefined: there is none. */
  readonly session: string | undefined;
  /** What is sealed in the id of a session that the gateway holds; undefined: it holds none. */
  readonly bridge?: string | undefined;
  /** Of an older client: it opens addresses that an error names (-32042). */
  readonly opensUrls?: true;
  /** Aborted when the client leaves, or may not go on. */
  readonly signal: AbortLike;
  /** What the message came with. */
  readonly call?: Call;
  /** Of the session, or of the request. */
  readonly patience?: Patience;
  /** The endpoint of all servers offers tools to search and call tools by, in the place of all tools. */
  readonly searchesTools?: true;
  /** The tasks that the message names, which has the server's ids of them. */
  readonly tasks?: readonly OpenedTask[];
  /** Of a client without sessions: the server's session that its tasks are bound to. */
  readonly taskSession?: string | undefined;
}

/** A message that wants an answer. */
export type AskedRequest = Asked & { readonly message: RpcRequest };

/** An answer that has begun. */
export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** JSON text, a stream of events, or nothing. */
  readonly body: string | AsyncIterable<Frame> | undefined;
  /** What JSON text says. */
  readonly response?: RpcResponse;
}

/** A relayed answer, and what it says of the upstream's session. */
export interface Relayed extends Answer {
  /** Set by the answer to `initialize`. */
  readonly session: string | undefined;
  /** The session is one that the gateway holds. */
  readonly isHeld?: true;
  /** The upstream does not know the session any more. */
  readonly isForgotten: boolean;
}

/** What is sent without a message. */
export type AskedWithout = Omit<Asked, 'message' | 'text'>;
