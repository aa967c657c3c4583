// What a client that ended its side reads, when its answer takes far longer than the probes.
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import test from 'ava';
import type { Connection } from '../../src/edge/connections.ts';
import { onHalfClosed } from '../../src/edge/half-closed.ts';
import { until } from './child.ts';
import { Wire } from './wire.ts';

const REQUEST = (version: string): string => `GET / HTTP/${version}\r\nhost: x\r\n\r\n`;

/** A server that answers when `go` is called, and probes each few milliseconds. */
async function start(): Promise<{ port: number; answers: Set<ServerResponse>; close: () => void }> {
  const answers = new Set<ServerResponse>();
  const server = http.createServer((_req, res) => {
    answers.add(res);
    res.on('close', () => answers.delete(res));
  });
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (stream: Socket) => {
    stream.allowHalfOpen = true;
    stream.on('end', () => onHalfClosed({ answers, stream } as unknown as Connection, [2]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, answers, close: () => void server.close() };
}

test('an answer that takes long begins once, after whole interim answers', async (t) => {
  const server = await start();
  t.teardown(server.close);
  for (const bytes of [9, 12, 26, 40]) {
    const wire = new Wire(server.port).write(REQUEST('1.1'));
    wire.socket.end();
    let got = 0;
    wire.socket.on('data', (data) => {
      got += data.length;
    });
    await until(() => got >= bytes);
    for (const res of server.answers) res.end('the answer');
    const text = await wire.ended();
    t.regex(text, /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)*HTTP\/1\.1 200 OK\r\n[\s\S]*the answer/, `${bytes}`);
  }
});

test('a client of HTTP/1.0 sees no interim answer, one that is gone is noticed', async (t) => {
  const server = await start();
  t.teardown(server.close);
  const wire = new Wire(server.port).write(REQUEST('1.0'));
  wire.socket.end();
  let got = 0;
  wire.socket.on('data', (data) => {
    got += data.length;
  });
  await until(() => got === 9);
  for (const res of server.answers) res.end('the answer');
  t.regex(await wire.ended(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*the answer/);

  const gone = new Wire(server.port).write(REQUEST('1.1'));
  await until(() => server.answers.size === 1);
  gone.socket.destroy();
  await until(() => server.answers.size === 0);
  t.is(server.answers.size, 0);
});
