// One plain connection by itself: how long it is held, what it takes, and what it leaves behind.
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { PlainConnection, type PlainFacts, type PlainRequest } from '../../../src/edge/plain/connection.ts';
import type { JsonAnswer } from '../../../src/edge/respond.ts';
import { pause, until } from '../child.ts';
import { post, Wire } from './wire.ts';

interface Served {
  readonly port: number;
  readonly requests: PlainRequest[];
  readonly troubles: unknown[];
  readonly connections: PlainConnection[];
  readonly sockets: Socket[];
  readonly handedOver: Socket[];
  /** What was read of connections that were handed over. */
  taken: string;
  draining: boolean;
}

const answer = (json: string, headers: readonly (readonly [string, string])[] = []): JsonAnswer => ({
  ...{ status: 200, json, headers },
});

async function serve(
  t: ExecutionContext,
  handle: PlainFacts['handle'],
  keepAliveMs = 60_000,
): Promise<Served> {
  const all: Served = {
    port: 0,
    requests: [],
    troubles: [],
    connections: [],
    sockets: [],
    handedOver: [],
    taken: '',
    draining: false,
  };
  const facts: PlainFacts = {
    handle(request) {
      all.requests.push(request);
      return handle(request);
    },
    handOver(socket) {
      all.handedOver.push(socket);
      socket.on('data', (bytes) => {
        all.taken += bytes.toString();
      });
    },
    keepAliveMs,
    draining: () => all.draining,
    onTrouble: (error) => void all.troubles.push(error),
  };
  const server = net.createServer({ noDelay: true }, (socket) => {
    all.sockets.push(socket);
    socket.once('data', (first) => {
      const connection = new PlainConnection(socket, facts);
      all.connections.push(connection);
      connection.begin(first);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of all.sockets) socket.destroy();
  });
  return Object.assign(all, { port: (server.address() as AddressInfo).port });
}

function open(t: ExecutionContext, { port }: Served): Wire {
  const wire = new Wire(port);
  t.teardown(() => void wire.socket.destroy());
  return wire;
}

/** An answer to come. */
function pending(): {
  readonly promise: Promise<JsonAnswer | undefined>;
  readonly give: (a?: JsonAnswer) => void;
} {
  let give: (a?: JsonAnswer) => void = () => {};
  const promise = new Promise<JsonAnswer | undefined>((resolve) => {
    give = resolve;
  });
  return { promise, give };
}

test('an idle connection is held for its time and then closed, one with a call is not', async (t) => {
  const served = await serve(
    t,
    async () => {
      await pause(1500);
      return answer('{}');
    },
    100,
  );
  const wire = open(t, served).write(post({}, '{}'));
  t.is((await wire.answer()).status, 200);
  const start = Date.now();
  t.is(await wire.ended(), '');
  t.true(Date.now() - start >= 1000, `${Date.now() - start} ms`);
  t.is(served.handedOver.length, 0);
});

test('a client that does not read its answers is not read, and is answered when it does', async (t) => {
  const json = JSON.stringify('x'.repeat(8_000_000));
  const served = await serve(t, async () => answer(json));
  const wire = open(t, served);
  const request = post({}, JSON.stringify('y'.repeat(8000)));
  wire.write(request).socket.pause();
  await until(() => served.requests.length === 1);
  for (let sent = 0; sent < 40_000_000; sent += request.length) wire.socket.write(request);
  await until(() => served.sockets[0]?.isPaused() === true);
  await pause(200);
  const [socket] = served.sockets as [Socket];
  t.is(served.requests.length, 1);
  t.true(socket.bytesRead < 1_000_000, `${socket.bytesRead} bytes`);
  t.true(socket.writableLength < 10_000_000, `${socket.writableLength} bytes`);
  t.false(socket.destroyed);
  wire.socket.resume();
  t.is((await wire.answer()).body, json);
  // What came early is more than one request: node:http's.
  await until(() => served.handedOver.length === 1);
});

test("one that leaves before its answer is told of once, and the answer is nobody's", async (t) => {
  const later = pending();
  const told: string[] = [];
  const served = await serve(t, (request) => {
    request.left = ({ reason }) => void told.push(reason);
    return later.promise;
  });
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  wire.socket.destroy();
  await until(() => told.length === 1);
  later.give(answer('{}'));
  await pause(20);
  t.deepEqual(told, ['client_closed']);
  t.deepEqual(served.troubles, []);
});

test('one that leaves behind its answer is not told of', async (t) => {
  let told = 0;
  const served = await serve(t, async (request) => {
    request.left = () => void told++;
    return answer('{}');
  });
  const wire = open(t, served).write(post({}, '{}'));
  await wire.answer();
  wire.socket.destroy();
  await until(() => served.sockets[0]!.destroyed);
  t.is(told, 0);
});

test('no answer closes the connection', async (t) => {
  const served = await serve(t, async () => undefined);
  t.is(await open(t, served).write(post({}, '{}')).ended(), '');
  t.deepEqual(served.troubles, []);
});

for (const [what, handle] of [
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['answers with two headers in one', async () => answer('{}', [['x-a', 'b\r\nx-c: d']])],
] as readonly (readonly [string, PlainFacts['handle']])[]) {
  test(`a handler that ${what} closes its connection and no other`, async (t) => {
    const served = await serve(t, (request) => {
      if (request.url === '/bad') return handle(request);
      return pause(request.url === '/slow' ? 50 : 0).then(() => answer('{}'));
    });
    const other = open(t, served).write(post({}, '{}'));
    await other.answer();
    t.is(
      await open(t, served)
        .write(post({}, '{}', '/bad'))
        .ended(),
      '',
    );
    t.is(served.troubles.length, 1);
    t.is((await other.write(post({}, '{}')).answer()).status, 200);
    // Early, behind one that is answered, where no event of the socket is under way.
    const later = open(t, served).write(post({}, '{}', '/slow'));
    await until(() => served.requests.some(({ url }) => url === '/slow'));
    await later.write(post({}, '{}', '/bad')).answer();
    t.is(await later.ended(), '');
    t.is(served.troubles.length, 2);
  });
}

test('what comes behind the last answer of a connection is not taken', async (t) => {
  const later = pending();
  const served = await serve(t, () => later.promise);
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  served.draining = true;
  for (const connection of served.connections) connection.drain();
  later.give(answer('{}'));
  // In the same turn as the answer, when the connection is not closed yet.
  served.sockets[0]!.once('finish', () => served.sockets[0]!.emit('data', post({}, '{}', '/late')));
  t.is((await wire.answer()).headers.connection, 'close');
  await wire.ended();
  t.is(served.requests.length, 1);
  t.is(served.handedOver.length, 0);
});

test('a drained connection that is idle is closed, one that is being read is closed with its answer', async (t) => {
  const json = JSON.stringify('x'.repeat(8_000_000));
  const served = await serve(t, async ({ url }) => answer(url === '/big' ? json : '{}'));
  const idle = open(t, served).write(post({}, '{}'));
  await idle.answer();
  const slow = open(t, served);
  slow.socket.pause();
  slow.write(post({}, '{}', '/big'));
  await until(() => served.sockets.length === 2 && served.requests.length === 2);
  await pause(50);
  served.draining = true;
  for (const connection of served.connections) connection.drain();
  t.is(await idle.ended(), '');
  slow.socket.resume();
  t.is((await slow.answer()).body, json);
  t.is(await slow.ended(), '');
});

test('a connection that is handed over has nothing of this one left, and all of its bytes', async (t) => {
  const later = pending();
  const served = await serve(t, () => later.promise);
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  const [socket] = served.sockets as [Socket];
  t.is(socket.listenerCount('data'), 1);
  t.is(socket.timeout, 61_000);
  for (const part of ['GET / HT', 'TP/1.1\r\n', 'host: x\r\n']) {
    wire.write(part);
    await pause(20);
  }
  later.give(answer('{}'));
  await until(() => served.handedOver.length === 1);
  wire.write('\r\n');
  await until(() => served.taken === 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  t.deepEqual(
    ['data', 'timeout', 'error', 'drain', 'readable'].map((event) => socket.listenerCount(event)),
    [1, 0, 0, 0, 0],
  );
  // Each of net's own sockets has one.
  t.is(socket.listenerCount('close'), new net.Socket().listenerCount('close'));
  t.is(socket.timeout, 0);
});

test('what is not plain is handed over at once, with no word of it', async (t) => {
  const served = await serve(t, () => undefined);
  for (const [at, bytes] of [post({}, '{}'), Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')].entries()) {
    served.taken = '';
    open(t, served).write(bytes);
    await until(() => served.taken === bytes.toString());
    t.is(served.handedOver.length, at + 1);
  }
});
