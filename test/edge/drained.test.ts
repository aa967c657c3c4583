// Waiting for a client that takes its answer slowly, or not at all.
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import test from 'ava';
import { drained } from '../../src/edge/respond.ts';
import { GatewayError } from '../../src/lib/errors.ts';

/** Fills the socket of a client, and gives how waiting for it went. */
async function waitFor(act: (socket: net.Socket) => void, stallMs: number): Promise<unknown> {
  let settle: (outcome: unknown) => void = () => {};
  const outcome = new Promise((resolve) => {
    settle = resolve;
  });
  const server = http.createServer((_req, res) => {
    const write = async (): Promise<string> => {
      // More than the kernel takes for a client.
      for (let i = 0; i < 64; i++) if (!res.write(Buffer.alloc(1024 * 1024))) await drained(res, stallMs);
      return 'drained';
    };
    write().then(settle, settle);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  setTimeout(act, 50, socket);
  const result = await outcome;
  socket.destroy();
  server.closeAllConnections();
  server.close();
  return result;
}

test('one that reads on is waited for', async (t) => {
  t.is(await waitFor((socket) => socket.resume(), 30_000), 'drained');
});

test('one that leaves, or takes nothing, is given up', async (t) => {
  for (const act of [(socket: net.Socket) => socket.destroy(), () => {}]) {
    const error = await waitFor(act, 300);
    t.true(error instanceof GatewayError);
    t.is((error as GatewayError).reason, 'client_closed');
  }
});
