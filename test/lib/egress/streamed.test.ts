import { createHash, randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import test from 'ava';
import { call, collect, dialer, pause, refusedWith, serve, serveRaw, until } from './upstreams.ts';

test('ten megabytes come through unchanged', async (t) => {
  const sent = randomBytes(10 * 1024 * 1024);
  const up = await serve(t, (_req, res) => res.end(sent));
  const answer = await dialer(t).stream(call(up.origin));
  const hash = createHash('sha1');
  let length = 0;
  for await (const piece of answer.body) {
    hash.update(piece);
    length += piece.length;
  }
  t.is(length, sent.length);
  t.is(hash.digest('hex'), createHash('sha1').update(sent).digest('hex'));
});

test('pieces come as they are sent, and the connection is kept', async (t) => {
  const up = await serve(t, async (_req, res) => {
    for (const piece of ['one', 'two', 'three']) {
      res.write(piece);
      await pause(15);
    }
    res.end();
  });
  const out = dialer(t);
  for (let i = 0; i < 2; i++) {
    const answer = await out.stream(call(up.origin));
    const pieces: string[] = [];
    for await (const piece of answer.body) pieces.push(Buffer.from(piece).toString());
    t.deepEqual(pieces, ['one', 'two', 'three']);
    await pause(1);
  }
  t.is(up.connections(), 1);
});

test('a reader that is slow holds the upstream back, and gets everything in the end', async (t) => {
  const size = 32 * 1024 * 1024;
  let written = 0;
  const up = await serve(t, (_req, res) => {
    const piece = Buffer.alloc(64 * 1024, 1);
    const more = (): void => {
      while (written < size) {
        written += piece.length;
        if (!res.write(piece)) {
          res.once('drain', more);
          return;
        }
      }
      res.end();
    };
    more();
  });
  const answer = await dialer(t).stream(call(up.origin, { idleTimeoutMs: 1000 }));
  // Longer than the idle bound: it is the reader who is silent, not the upstream.
  await pause(1500);
  const held = written;
  await pause(30);
  t.is(written, held, 'the upstream is blocked');
  // What is under way sits in the kernel's buffers and the server's own, which differ by machine.
  t.true(held < size / 2, `${held} bytes were taken`);
  let length = 0;
  for await (const piece of answer.body) length += piece.length;
  t.is(length, size);
});

test('no more than the mark waits for a slow reader', async (t) => {
  let sent = 0;
  const up = await serveRaw(t, (upstream) => {
    upstream.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1e9}\r\n\r\n`);
    const piece = Buffer.alloc(64 * 1024);
    const more = (): void => {
      while (upstream.writable && upstream.write(piece));
      sent = upstream.bytesWritten - upstream.writableLength;
    };
    upstream.on('drain', more);
    more();
  });
  let socket: Socket | undefined;
  const connected = (message: unknown): void => {
    const { connectParams, socket: own } = message as { connectParams: { port: string }; socket: Socket };
    if (up.origin.endsWith(`:${connectParams.port}`)) socket = own;
  };
  subscribe('undici:client:connected', connected);
  t.teardown(() => unsubscribe('undici:client:connected', connected));
  const answer = await dialer(t).stream(call(up.origin));
  for (let before = -1; before !== sent; await pause(200)) before = sent;
  const taken = socket?.bytesRead ?? 0;
  t.true(taken >= 256 * 1024, `${taken}`);
  // The mark, the piece that crossed it, and what Node's socket had read ahead.
  t.true(taken <= 256 * 1024 + 3 * 64 * 1024, `${taken}`);
  t.true(sent > taken, 'the kernel holds the rest');
  await answer.body[Symbol.asyncIterator]().return?.();
});

test('leaving the loop closes the socket', async (t) => {
  const up = await serve(t, (_req, res) => {
    const timer = setInterval(() => res.write('x'), 2);
    res.on('close', () => clearInterval(timer));
  });
  const answer = await dialer(t).stream(call(up.origin));
  for await (const _piece of answer.body) break;
  await until(() => up.open() === 0);
  const iterator = answer.body[Symbol.asyncIterator]();
  t.deepEqual(await iterator.next(), { done: true, value: undefined });
});

test('aborting in mid-body ends the loop with the reason and closes the socket', async (t) => {
  const up = await serve(t, (_req, res) => res.write('first'));
  const controller = new AbortController();
  const reason = new Error('the client left');
  const answer = await dialer(t).stream(call(up.origin, { signal: controller.signal }));
  const error = await t.throwsAsync(async () => {
    for await (const _piece of answer.body) controller.abort(reason);
  });
  t.is(error, reason);
  await until(() => up.open() === 0);
});

test('what came before a cut is read, then the cut is told', async (t) => {
  const up = await serveRaw(t, (socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'),
    );
  });
  const answer = await dialer(t).stream(call(up.origin));
  await pause(20);
  const iterator = answer.body[Symbol.asyncIterator]();
  t.is(Buffer.from((await iterator.next()).value ?? []).toString(), 'hello');
  await refusedWith(t, 'upstream_interrupted', iterator.next());
});

test('silence in mid-body is a timeout', async (t) => {
  const up = await serve(t, (_req, res) => res.write('x'));
  const answer = await dialer(t).stream(call(up.origin, { idleTimeoutMs: 50 }));
  await refusedWith(t, 'upstream_timeout', collect(answer.body));
  await until(() => up.open() === 0);
});

test('a failure before the head rejects the call', async (t) => {
  const up = await serveRaw(t, (socket) => socket.once('data', () => socket.destroy()));
  await refusedWith(t, 'upstream_unreachable', dialer(t).stream(call(up.origin, { method: 'POST' })));
});

const echo = async (t: Parameters<typeof serve>[0]) =>
  serve(t, (req, res) => {
    res.setHeader('x-te', String(req.headers['transfer-encoding']));
    res.setHeader('x-cl', String(req.headers['content-length']));
    req.pipe(res);
  });

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    await pause(1);
    yield Buffer.from(text);
  }
}

test('a body in pieces is chunked, unless its length is given', async (t) => {
  const up = await echo(t);
  const out = dialer(t);
  const chunked = await out.stream(call(up.origin, { method: 'POST', body: pieces('ab', '', 'cd') }));
  t.is((await collect(chunked.body)).toString(), 'abcd');
  t.is(chunked.header('x-te'), 'chunked');
  const given = await out.whole(
    call(up.origin, { method: 'PUT', headers: ['content-length', '4'], body: pieces('ab', 'cd') }),
    10,
  );
  t.is(Buffer.from(given.body).toString(), 'abcd');
  t.is(given.header('x-cl'), '4');
  t.is(given.header('x-te'), 'undefined');
});

test('a body that throws aborts the request and its error surfaces', async (t) => {
  const up = await serve(t, (req) => req.resume());
  const failure = new Error('the client broke off');
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw failure;
  }
  t.is(await t.throwsAsync(dialer(t).stream(call(up.origin, { method: 'POST', body: broken() }))), failure);
  await until(() => up.open() === 0);
});

test('a body that cannot even be opened', async (t) => {
  const up = await serve(t, (req) => req.resume());
  const failure = new Error('locked');
  const locked: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]() {
      throw failure;
    },
  };
  t.is(await t.throwsAsync(dialer(t).stream(call(up.origin, { method: 'POST', body: locked }))), failure);
});

test('a body shorter or longer than its length does not smuggle', async (t) => {
  const up = await serve(t, (req, res) => {
    req.resume();
    req.on('end', () => res.end());
  });
  for (const length of ['2', '9']) {
    const request = call(up.origin, {
      method: 'POST',
      headers: ['content-length', length],
      body: pieces('abcd'),
    });
    await refusedWith(t, 'validation_failed', dialer(t).whole(request, 10));
  }
});

test('an upload waits for the upstream, and stops when the exchange ends', async (t) => {
  const up = await serveRaw(t, (socket) => socket.pause());
  let given = 0;
  let stopped = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        given++;
        yield Buffer.alloc(64 * 1024);
      }
    } finally {
      stopped = true;
    }
  }
  const controller = new AbortController();
  const running = dialer(t).stream(
    call(up.origin, { method: 'POST', body: endless(), signal: controller.signal }),
  );
  await pause(150);
  const held = given;
  await pause(30);
  t.is(given, held);
  controller.abort(new Error('enough'));
  await t.throwsAsync(running, { message: 'enough' });
  await until(() => stopped);
});

test('a stalled upload does not outlive its exchange', async (t) => {
  const up = await serve(t, (req) => req.resume());
  let returned = false;
  const stalled: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: async () => {
        returned = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const request = call(up.origin, { method: 'POST', body: stalled, headTimeoutMs: 60 });
  await refusedWith(t, 'upstream_timeout', dialer(t).stream(request));
  t.true(returned);
  await until(() => up.open() === 0);
});

test('an answer before the end of the upload is an answer', async (t) => {
  let returned = false;
  const up = await serve(t, (_req, res) => res.writeHead(413).end('too much'));
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        await pause(1);
        yield Buffer.alloc(1024);
      }
    } finally {
      returned = true;
    }
  }
  const answer = await dialer(t).whole(call(up.origin, { method: 'POST', body: endless() }), 100);
  t.is(answer.status, 413);
  await until(() => returned);
});
