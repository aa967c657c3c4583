// What an outbound call is: the port between those who call providers, hooks or
// key sets and the one dialer that may open sockets.

import type { AbortLike } from '../abort.ts';
import type { Network } from './network.ts';
import type { OpenSocket } from './socket.ts';

/** A body to send: whole, or in pieces with backpressure. */
export type OutboundBody = string | Uint8Array | AsyncIterable<Uint8Array> | undefined;

/** A request to an address outside. */
export interface OutboundRequest {
  /** Scheme, host and port, e.g. "https://api.openai.com" or "http://127.0.0.1:9000". */
  readonly origin: string;
  /** Raw path with its query; begins with a slash. */
  readonly path: string;
  readonly method: string;
  /**
   * Flat pairs, names and values as they go onto the wire. Host, connection, transfer-encoding and their like are
   * left out, and so is content-length, unless the body comes in pieces: then it says how long they are together.
   */
  readonly headers: readonly string[];
  readonly body: OutboundBody;
  /** Aborting closes the socket. */
  readonly signal: AbortLike;
  /** Longest silence before the head arrives, in milliseconds; default 300,000. */
  readonly headTimeoutMs?: number;
  /** Longest silence between pieces of the body, in milliseconds; default 300,000. */
  readonly idleTimeoutMs?: number;
  /** The port of this machine that this call may go to, where the dialer opens such. */
  readonly localPort?: number | undefined;
  /** Connections of one's own in the place of the common ones. The same addresses are refused. */
  readonly network?: Network | undefined;
}

/** Status and headers of an answer. */
export interface InboundHead {
  readonly status: number;
  /** Flat pairs in the order and spelling of the wire, repeated ones included (latin-1). Made when first read. */
  readonly rawHeaders: readonly string[];
  /** The last value of a header by lower-case name. */
  header(name: string): string | undefined;
}

/** An answer read whole. */
export interface WholeAnswer extends InboundHead {
  readonly body: Uint8Array;
}

/** An answer whose body is streamed. */
export interface StreamedAnswer extends InboundHead {
  /** Pieces as they come off the socket, undecoded, for one reader. Leaving the loop early closes the socket. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The only way out of this process. Errors are GatewayErrors: host_refused; upstream_unreachable (no connection, or
 * closed without an answer); upstream_timeout; upstream_interrupted (broken off within the answer); upstream_garbage
 * (no HTTP, or an answer over the bound); validation_failed (a header or path that cannot be sent); overloaded
 * (shutting down). Two come back as they were given: the reason of the aborted signal, when it is an Error (else
 * client_closed), and what the request's own body threw.
 */
export interface Dialer {
  /** Sends and reads the whole answer, at most `maxBytes`. Redirects are answers, not followed. */
  whole(request: OutboundRequest, maxBytes: number): Promise<WholeAnswer>;
  /** Sends and resolves with the head; the body follows. */
  stream(request: OutboundRequest): Promise<StreamedAnswer>;
  /** Opens a connection of its own, for a WebSocket. It is the caller's to close. */
  socket(request: Pick<OutboundRequest, 'origin' | 'path' | 'network' | 'localPort'>): Promise<OpenSocket>;
  /**
   * Refuses, without a connection, an address that may never be called.
   * @param localPort as in a request
   * @throws GatewayError host_refused with `param`
   */
  check(url: string, param: string, localPort?: number): void;
  /** Closes idle connections and ends those in use. */
  close(): Promise<void>;
}
