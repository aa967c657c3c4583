// A connection of its own to a target, for what is no request and answer: its addresses pass the same rules.
import type { Socket } from 'node:net';
import type { Route } from './route.ts';
import { upstreamError } from './upstream-errors.ts';

/** An open connection, TLS included. */
export interface OpenSocket {
  readonly socket: Socket;
  /** Prefix of the path that a proxy wants (absolute-form); empty otherwise. */
  readonly forward: string;
  /** Header pairs for the proxy. */
  readonly extraHeaders: readonly string[];
}

/** @throws GatewayError host_refused, upstream_unreachable, upstream_timeout */
export function openSocket(route: Route, origin: string): Promise<OpenSocket> {
  const { hostname, host, protocol, port } = new URL(origin);
  const name = hostname.replace(/^\[|\]$/g, '');
  const servername = /^[\d.]+$|:/.test(name) ? '' : name;
  return new Promise((resolve, reject) => {
    route.connect({ hostname: name, host, protocol, port, servername }, (error, socket) => {
      if (error !== null || socket === null)
        reject(upstreamError(error, route.host, 'before_answer', route.proves));
      else resolve({ socket: socket as Socket, forward: route.forward, extraHeaders: route.extraHeaders });
    });
  });
}
