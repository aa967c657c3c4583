// One session with a server whose messages all come one way: a stream of events, or the output of a program.
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import type { GatewayError } from '../../lib/errors.ts';
import type { RpcMessage, RpcRequest } from '../wire/json-rpc.ts';
import type { Inbox } from './inbox.ts';

/** Where a server is, as one caller reaches it. */
export interface LineTarget {
  readonly origin: string;
  readonly path: string;
  /** Flat pairs. */
  readonly headers: readonly string[];
  /** Whose session it is, where sessions of one caller have a bound of their own. */
  readonly owner?: string;
}

export interface Line {
  /** Of the server: a session of another address is not used. */
  readonly address: string;
  readonly owner: string | undefined;
  /** Requests are under way. */
  readonly hasRequests: boolean;
  /** Requests are under way, or notices are listened to. */
  readonly isBusy: boolean;
  /** Unix milliseconds. */
  readonly usedAt: number;
  /** The server has answered in revision 2026-07-28, which has no handshake. */
  readonly isModern?: boolean;
  /** Connects. @returns undefined, or the answer of a server that refuses @throws GatewayError */
  open(signal: AbortLike): Promise<StreamedAnswer | undefined>;
  /** @returns the server's refusal, or the messages up to the response @throws GatewayError */
  request(target: LineTarget, request: RpcRequest, signal: AbortLike): Promise<StreamedAnswer | Inbox>;
  /** A notification, or an answer to the server. @returns the server's refusal @throws GatewayError */
  post(target: LineTarget, message: RpcMessage, signal: AbortLike): Promise<StreamedAnswer | undefined>;
  /** What the server sends that answers no request. */
  listen(signal: AbortLike): Inbox;
  /** @param why what requests under way get; undefined: the session is not needed any more */
  close(why?: GatewayError): void;
}
