// One plain connection by itself: how long it is held, what it takes, and what is left of it afterwards.
import net, { type Socket } from 'node:net';
import test from 'ava';
import type { PlainDeps } from '../../../src/edge/plain/connection.ts';
import type { JsonAnswer } from '../../../src/edge/respond.ts';
import { pause, until } from '../child.ts';
import { post } from '../wire.ts';
import { answer, open, serve } from './served.ts';

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
  let answeredAt = 0;
  const served = await serve(
    t,
    async () => {
      await pause(1500);
      answeredAt = Date.now();
      return answer('{}');
    },
    100,
  );
  const wire = open(t, served).write(post({}, '{}'));
  t.is((await wire.answer()).status, 200);
  t.is(await wire.ended(), '');
  const held = Date.now() - answeredAt;
  t.true(held >= 500, `${held} ms`);
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

test('a client that leaves before its answer is told of once, and its answer is dropped', async (t) => {
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

test('a client that leaves after its answer is not told of', async (t) => {
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
] as readonly (readonly [string, PlainDeps['handle']])[]) {
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
    // Early, after one that is answered, where no event of the socket is under way.
    const later = open(t, served).write(post({}, '{}', '/slow'));
    await until(() => served.requests.some(({ url }) => url === '/slow'));
    await later.write(post({}, '{}', '/bad')).answer();
    t.is(await later.ended(), '');
    t.is(served.troubles.length, 2);
  });
}

test('what comes after the last answer of a connection is not taken', async (t) => {
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
  // The other is that of the count of connections.
  t.is(socket.listenerCount('close'), new net.Socket().listenerCount('close') + 1);
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

test('a body that does not come is node:http’s to wait for', async (t) => {
  const served = await serve(t, async () => answer('{}'), 60_000, 10);
  const bytes = post({}, '{"a":1}').subarray(0, -5);
  open(t, served).write(bytes);
  await until(() => served.taken === bytes.toString());
  t.is(served.handedOver.length, 1);
});

test('a body that comes after its head is waited for once; what comes later still is node:http’s', async (t) => {
  const served = await serve(t, async () => answer('{}'));
  const bytes = post({}, '{"a":1}');
  const cut = bytes.length - 5;
  const wire = open(t, served).write(bytes.subarray(0, cut));
  await until(() => served.sockets[0]?.bytesRead === cut);
  await pause(20);
  t.is((await wire.write(bytes.subarray(cut)).answer()).status, 200);
  t.is(served.handedOver.length, 0);
  for (const [from, to] of [
    [0, cut],
    [cut, cut + 2],
    [cut + 2, bytes.length],
  ] as const) {
    wire.write(bytes.subarray(from, to));
    await until(() => served.sockets[0]?.bytesRead === bytes.length + to);
    await pause(20);
  }
  await until(() => served.taken === bytes.toString());
  t.is(served.handedOver.length, 1);
});

test('a client that ends its side and waits gets its answer, and the connection ends', async (t) => {
  const later = pending();
  const served = await serve(t, () => later.promise);
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  wire.socket.end();
  await until(() => served.sockets[0]?.readableEnded === true);
  await pause(50);
  later.give(answer('{"a":1}'));
  const { status, body } = await wire.answer();
  // The bytes that probe for a client that left are those of an interim answer, or of this one.
  const last = status === 100 ? await wire.answer() : { status, body };
  t.deepEqual([last.status, last.body], [200, '{"a":1}']);
  await wire.ended();
  t.deepEqual(served.troubles, []);
});

test('its requests count as its connection’s, and show that it has a valid key', async (t) => {
  const later = pending();
  const served = await serve(t, () => later.promise);
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  const [kept] = served.kept;
  t.like(kept, { running: 1, asked: true, proven: true });
  later.give(answer('{}'));
  await wire.answer();
  t.is(kept?.running, 0);
  const left = open(t, served).write(post({}, '{}'));
  await left.answer();
  left.write(post({}, '{}', '/gone')).socket.destroy();
  await until(() => served.kept[1]?.socket.destroyed === true);
  t.is(served.kept[1]?.running, 0);
});

test('answers as texts come out as UTF-8, their headers as Latin-1, whatever is in them', async (t) => {
  const texts = ['{"a":"plain"}', '{"a":"\u00fc \u20ac \u{1f600}"}', `{"a":"${'x'.repeat(20_000)}"}`];
  let next = 0;
  const served = await serve(t, () => Promise.resolve(answer(texts[next++]!, [['x-name', 'J\u00fcrgen']])));
  const socket = net.connect(served.port, '127.0.0.1');
  t.teardown(() => void socket.destroy());
  let read = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    read = Buffer.concat([read, bytes]);
  });
  for (const text of texts) {
    read = Buffer.alloc(0);
    socket.write(post({}, '{}'));
    const bytes = Buffer.from(text);
    await until(() => read.includes(bytes));
    const head = read.subarray(0, read.indexOf('\r\n\r\n')).toString('latin1');
    t.regex(head, new RegExp(`content-length: ${bytes.length}`));
    t.regex(head, /x-name: J\u00fcrgen/);
    t.true(read.subarray(head.length + 4).equals(bytes));
  }
});

test('without a valid key a body is not waited for: the head is node:http’s at once', async (t) => {
  const served = await serve(t, async () => answer('{}'));
  const bytes = post({}, '{"a":1}', '/unknown').subarray(0, -5);
  open(t, served).write(bytes);
  await until(() => served.taken === bytes.toString());
  t.is(served.requests.length, 0);
});
