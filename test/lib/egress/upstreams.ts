// Real servers on loopback for the dialer's tests, and requests to them.
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer, type DialerOptions } from '../../../src/lib/egress/dialer.ts';
import type { Dialer, OutboundRequest } from '../../../src/lib/egress/outbound.ts';
import { GatewayError, type Reason } from '../../../src/lib/errors.ts';

export interface Upstream {
  readonly origin: string;
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** Connections open now. */
  open(): number;
}

async function listen(t: ExecutionContext, server: net.Server): Promise<Upstream> {
  const sockets = new Set<net.Socket>();
  let connections = 0;
  server.on('connection', (socket: net.Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    open: () => sockets.size,
  };
}

/** An HTTP server that answers with the listener. */
export function serve(t: ExecutionContext, listener: http.RequestListener): Promise<Upstream> {
  return listen(t, http.createServer(listener));
}

/** A server of raw bytes. */
export function serveRaw(t: ExecutionContext, onSocket: (socket: net.Socket) => void): Promise<Upstream> {
  return listen(t, net.createServer(onSocket));
}

/** Any server, e.g. an https one. */
export const serveOn = listen;

/** A dialer that may call loopback, closed after the test. */
export function dialer(t: ExecutionContext, options: Partial<DialerOptions> = {}): Dialer {
  const made = createDialer({ allow: parseAllowList('127.0.0.1/32'), ...options });
  t.teardown(() => made.close());
  return made;
}

/** A GET of `/` unless said otherwise. */
export function call(origin: string, over: Partial<OutboundRequest> = {}): OutboundRequest {
  const signal = new AbortController().signal;
  return { origin, path: '/', method: 'GET', headers: [], body: undefined, signal, ...over };
}

/** The GatewayError that a promise ends with, its reason asserted. */
export async function refusedWith(
  t: ExecutionContext,
  reason: Reason,
  promise: Promise<unknown>,
): Promise<GatewayError> {
  const error = await t.throwsAsync(promise);
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError: ${error}`, { cause: error });
  t.is(error.reason, reason, error.message);
  return error;
}

export async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Waits until something is so, at most a minute. */
export async function until(what: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!what()) {
    if (Date.now() > end) throw new Error('it never came about');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
