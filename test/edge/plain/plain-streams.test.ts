// Streamed answers over a plain connection.
import type { Socket } from 'node:net';
import test from 'ava';
import { EventBytes } from '../../../src/edge/event-bytes.ts';
import type { EventSink } from '../../../src/edge/event-sink.ts';
import type { PlainDeps } from '../../../src/edge/plain/connection.ts';
import { until } from '../child.ts';
import { post } from '../wire.ts';
import { answer, open, serve } from './served.ts';

const HEAD = [['content-type', 'text/event-stream; charset=utf-8']] as const;

/** @param write what an answer is made of */
function streaming(write: (sink: EventSink) => Promise<void>): PlainDeps['handle'] {
  return async () => ({ write });
}

/** What chunks say. */
function joined(body: string): string {
  let bytes = Buffer.from(body);
  let text = '';
  for (;;) {
    const end = bytes.indexOf('\r\n');
    const length = Number.parseInt(bytes.toString('latin1', 0, end), 16);
    if (length === 0) return text;
    text += bytes.toString('utf8', end + 2, end + 2 + length);
    bytes = bytes.subarray(end + 2 + length + 2);
  }
}

test('streams follow each other and other answers on one connection', async (t) => {
  const texts = ['data: 1\n\n', 'data: größer 漢字 😀\n\n', 'data: [DONE]\n\n'];
  const served = await serve(t, async ({ url }) => {
    if (url === '/whole') return answer('{}');
    return {
      async write(sink) {
        sink.head(200, [...HEAD, ['x-a', 'b\u00e4']]);
        for (const text of texts.slice(0, -1)) {
          sink.write(EventBytes.of(text));
          await new Promise(setImmediate);
        }
        sink.end(EventBytes.of(texts.at(-1)!));
      },
    };
  });
  const wire = open(t, served);
  for (let i = 0; i < 3; i++) {
    const { status, headers, lines, body } = await wire.write(post({}, '{}', '/stream')).answer();
    t.is(status, 200);
    t.is(joined(body), texts.join(''));
    t.is(headers['transfer-encoding'], 'chunked');
    t.is(headers['content-type'], 'text/event-stream; charset=utf-8');
    t.is(headers['x-a'], 'b\u00e4');
    t.is(headers.connection, 'keep-alive');
    t.true(lines.some((line) => line.startsWith('Date: ')));
    t.is((await wire.write(post({}, '{}', '/whole')).answer()).body, '{}');
  }
  t.is(served.sockets.length, 1);
  t.deepEqual(served.troubles, []);
});

test('a head is sent by itself, and a stream without events has an end', async (t) => {
  let go: () => void = () => {};
  const served = await serve(
    t,
    streaming(async (sink) => {
      sink.head(200, HEAD);
      sink.flushHead();
      sink.flushHead();
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      sink.end(undefined);
    }),
  );
  const wire = open(t, served).write(post({}, '{}'));
  const got: string[] = [];
  wire.socket.on('data', (bytes) => got.push(bytes.toString()));
  await until(() => got.join('').endsWith('\r\n\r\n'));
  t.is(got.join('').split('HTTP/1.1 200').length, 2);
  go();
  t.is((await wire.answer()).body, '0\r\n\r\n');
});

test('a client that leaves in the middle is told of once, and what is written then goes nowhere', async (t) => {
  const told: string[] = [];
  let left: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    left = resolve;
  });
  let over = false;
  const served = await serve(t, async (request) => {
    request.left = ({ reason }) => {
      told.push(reason);
      left();
    };
    return {
      async write(sink) {
        sink.head(200, HEAD);
        sink.write(EventBytes.of('data: 1\n\n'));
        await gone;
        t.false(sink.write(EventBytes.of('data: 2\n\n')));
        t.true(sink.destroyed);
        sink.destroy();
        over = true;
      },
    };
  });
  const wire = open(t, served).write(post({}, '{}'));
  await until(() => served.requests.length === 1);
  wire.socket.destroy();
  await until(() => over);
  t.deepEqual(told, ['client_closed']);
  t.deepEqual(served.troubles, []);
  t.is(served.kept[0]?.running, 0);
});

test('a client that takes nothing stops the stream until it does', async (t) => {
  const text = `data: ${'x'.repeat(65_000)}\n\n`;
  let written = 0;
  const served = await serve(
    t,
    streaming(async (sink) => {
      sink.head(200, HEAD);
      for (; written < 200; written++) if (sink.write(EventBytes.of(text))) await sink.drained();
      sink.end(undefined);
    }),
  );
  const wire = open(t, served);
  wire.write(post({}, '{}')).socket.pause();
  await until(() => served.sockets[0]?.writableNeedDrain === true);
  const [socket] = served.sockets as [Socket];
  t.true(written < 200);
  t.true(socket.writableLength < 1_000_000, `${socket.writableLength} bytes`);
  wire.socket.resume();
  t.is(joined((await wire.answer()).body), text.repeat(200));
});

test('a stream that is destroyed ends its connection without its last chunk', async (t) => {
  const served = await serve(
    t,
    streaming(async (sink) => {
      sink.head(200, HEAD);
      sink.write(EventBytes.of('data: 1\n\n'));
      await new Promise(setImmediate);
      sink.destroy();
    }),
  );
  const rest = await open(t, served).write(post({}, '{}')).ended();
  t.false(rest.includes('0\r\n\r\n'));
  t.deepEqual(served.troubles, []);
});

test('a writer that fails closes its connection and no other', async (t) => {
  const served = await serve(t, async ({ url }) => {
    if (url !== '/bad') return answer('{}');
    return { write: async (sink) => sink.head(200, [['x-a', 'b\r\nx-c: d']]) };
  });
  const other = open(t, served).write(post({}, '{}'));
  await other.answer();
  t.is(
    await open(t, served)
      .write(post({}, '{}', '/bad'))
      .ended(),
    '',
  );
  t.is((await other.write(post({}, '{}')).answer()).status, 200);
  t.is(served.troubles.length, 1);
});

test('while it drains a stream is the last answer of its connection', async (t) => {
  const served = await serve(
    t,
    streaming(async (sink) => {
      sink.head(200, HEAD);
      sink.end(EventBytes.of('data: 1\n\n'));
    }),
  );
  served.draining = true;
  const wire = open(t, served).write(post({}, '{}'));
  t.is((await wire.answer()).headers.connection, 'close');
  t.is(await wire.ended(), '');
});

test('a client that has ended its side before the answer began gets all of it; one that ends it later leaves', async (t) => {
  const told: string[] = [];
  const steps: (() => void)[] = [];
  const step = (): Promise<void> => new Promise((resolve) => steps.push(resolve));
  const served = await serve(t, async (request) => {
    request.left = ({ reason }) => void told.push(reason);
    return {
      async write(sink) {
        if (request.url === '/late') await step();
        sink.head(200, HEAD);
        sink.write(EventBytes.of('data: 1\n\n'));
        if (request.url !== '/late') await step();
        sink.end(EventBytes.of('data: 2\n\n'));
      },
    };
  });
  const early = open(t, served).write(post({}, '{}', '/late'));
  early.socket.end();
  await until(() => served.sockets[0]?.readableEnded === true && steps.length === 1);
  steps.pop()!();
  t.is(joined((await early.answer()).body), 'data: 1\n\ndata: 2\n\n');
  t.is(await early.ended(), '');
  t.deepEqual(told, []);
  const late = open(t, served).write(post({}, '{}', '/early'));
  await until(() => steps.length === 1);
  late.socket.end();
  await until(() => told.length === 1);
  steps.pop()!();
  t.deepEqual(told, ['client_closed']);
});

test('memory that is used again has one answer at a time: a client that takes nothing, and others in between', async (t) => {
  const textOf = (name: string, at: number): string => `data: ${name}${at} ${name.repeat(65_000)}\n\n`;
  const countOf = (name: string): number => (name === 'a' ? 200 : 20);
  const all = (name: string): string =>
    Array.from({ length: countOf(name) }, (_, at) => textOf(name, at)).join('');
  const served = await serve(t, async ({ url }) => ({
    async write(sink) {
      const name = url.slice(1);
      sink.head(200, HEAD);
      for (let at = 0; at < countOf(name); at++) {
        if (sink.write(EventBytes.of(textOf(name, at)))) await sink.drained();
        else await new Promise(setImmediate);
      }
      sink.end(undefined);
    },
  }));
  const slow = open(t, served).write(post({}, '{}', '/a'));
  slow.socket.pause();
  await until(() => served.sockets[0]?.writableNeedDrain === true);
  for (const name of ['b', 'c'])
    t.true(
      joined(
        (
          await open(t, served)
            .write(post({}, '{}', `/${name}`))
            .answer()
        ).body,
      ) === all(name),
      name,
    );
  slow.socket.resume();
  t.true(joined((await slow.answer()).body) === all('a'));
  t.deepEqual(served.troubles, []);
});

test('a head that is longer than usual, and events that are longer than a block, are written whole', async (t) => {
  const value = 'v'.repeat(6000);
  const text = `data: ${'größer 漢字 😀'.repeat(20_000)}\n\n`;
  const served = await serve(
    t,
    streaming(async (sink) => {
      sink.head(200, [...HEAD, ['x-long', value]]);
      sink.write(EventBytes.of(text));
      sink.end(EventBytes.of('data: [DONE]\n\n'));
    }),
  );
  const { headers, body } = await open(t, served).write(post({}, '{}')).answer();
  t.is(headers['x-long'], value);
  t.true(joined(body) === `${text}data: [DONE]\n\n`);
});
