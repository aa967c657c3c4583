// Plain connections by themselves, behind a port of their own.
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { CONNECTION_TIMES, type Connection, Connections } from '../../../src/edge/connections.ts';
import { PlainConnection, type PlainDeps, type PlainRequest } from '../../../src/edge/plain/connection.ts';
import type { JsonAnswer } from '../../../src/edge/respond.ts';
import { Wire } from '../wire.ts';

/** A port whose connections are plain, and what was seen of them. */
export interface Served {
  readonly port: number;
  readonly requests: PlainRequest[];
  readonly troubles: unknown[];
  readonly connections: PlainConnection[];
  readonly kept: Connection[];
  readonly sockets: Socket[];
  readonly handedOver: Socket[];
  /** What was read of connections that were handed over. */
  taken: string;
  draining: boolean;
}

export const answer = (json: string, headers: readonly (readonly [string, string])[] = []): JsonAnswer => ({
  status: 200,
  json,
  headers,
});

export async function serve(
  t: ExecutionContext,
  handle: PlainDeps['handle'],
  keepAliveMs = 60_000,
  bodyWaitMs = 60_000,
): Promise<Served> {
  const all: Served = {
    port: 0,
    requests: [],
    troubles: [],
    connections: [],
    kept: [],
    sockets: [],
    handedOver: [],
    taken: '',
    draining: false,
  };
  const own = new Connections({ total: 100, perAddress: 100 }, CONNECTION_TIMES);
  const deps: PlainDeps = {
    handle(request) {
      all.requests.push(request);
      return handle(request);
    },
    awaits: ({ url }) => url !== '/unknown',
    bodyWaitMs,
    prove: (connection) => own.prove(connection),
    handOver({ stream }, rest) {
      all.handedOver.push(stream);
      stream.on('data', (bytes) => {
        all.taken += bytes.toString();
      });
      all.taken += rest?.toString() ?? '';
    },
    keepAliveMs,
    draining: () => all.draining,
    onTrouble: (error) => void all.troubles.push(error),
  };
  const server = net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    all.sockets.push(socket);
    const taken = own.add(socket);
    if (taken === undefined) throw new Error('no room for a connection');
    all.kept.push(taken);
    const connection = new PlainConnection(taken, deps);
    all.connections.push(connection);
    connection.begin(undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    own.close();
    for (const socket of all.sockets) socket.destroy();
  });
  return Object.assign(all, { port: (server.address() as AddressInfo).port });
}

export function open(t: ExecutionContext, { port }: Served): Wire {
  const wire = new Wire(port);
  t.teardown(() => void wire.socket.destroy());
  return wire;
}
