// Server-sent events on the wire: bytes, pace, leaving, backpressure.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Bench, type JsonObject, raw, readEvents, startBench } from '../contract/runner.ts';
import { until } from './child.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

function open(model: string, host?: string, headers: Record<string, string> = {}): http.ClientRequest {
  const { hostname, port } = new URL(bench.gateway.origin);
  const req = http.request({
    hostname,
    port,
    path: '/v1/chat/completions',
    method: 'POST',
    agent: false,
    headers: {
      ...bench.headers(bench.mark()),
      ...(host === undefined ? {} : { 'x-gateway-custom-host': host }),
      'content-type': 'application/json',
      ...headers,
    },
  });
  req.on('error', () => {});
  req.end(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'x' }] }));
  return req;
}

async function response(req: http.ClientRequest): Promise<http.IncomingMessage> {
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  return res;
}

async function textOf(res: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of res) text += String(chunk);
  return text;
}

async function server(t: ExecutionContext, handler: http.RequestListener): Promise<string> {
  const own = http
    .createServer((req, res) => {
      req.resume();
      handler(req, res);
    })
    .listen(0, '127.0.0.1');
  await once(own, 'listening');
  t.teardown(() => {
    own.closeAllConnections();
    own.close();
  });
  return `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
}

const chunk = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...more,
  })}\n\n`;
const END = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;

test('the text of a stream ends with [DONE] and holds data lines only', async (t) => {
  const res = await response(open('gpt-ok'));
  t.is(res.statusCode, 200);
  t.is(res.headers['content-type'], 'text/event-stream; charset=utf-8');
  t.is(res.headers['x-accel-buffering'], 'no');
  t.is(res.headers['content-length'], undefined);
  const text = await textOf(res);
  t.true(text.endsWith('\n\ndata: [DONE]\n\n'));
  t.true(text.split('\n').every((line) => line === '' || line.startsWith('data: ')));
});

test('events come as they are made, not at the end', async (t) => {
  const start = Date.now();
  const res = await response(open('stall-1500'));
  const [first] = (await once(res, 'data')) as [Buffer];
  const firstAt = Date.now() - start;
  t.true(first.toString().startsWith('data: {'));
  const rest = await textOf(res);
  t.true(Date.now() - start >= 1400);
  t.true(firstAt < 1300, `${firstAt} ms`);
  t.true(rest.endsWith('data: [DONE]\n\n'));
});

test('the status line waits for the first event: an early error keeps its status', async (t) => {
  const res = await response(open('stream-error-first'));
  t.is(res.statusCode, 503);
  t.is(res.headers['content-type'], 'application/json');
  t.like((JSON.parse(await textOf(res)) as JsonObject).error, { message: 'overloaded right away' });
});

test('comments, other events, CRLF and multi-line data of a provider are understood', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(': keep-alive\r\n\r\n');
    res.write('event: ping\r\ndata: {}\r\n\r\n');
    res.write('id: 1\nretry: 5\n');
    res.write(chunk('a').replace('data: {"id":"c",', 'data: {"id":"c",\ndata: '));
    res.write(chunk('b').replaceAll('\n', '\r'));
    res.end(END);
  });
  const { events, done } = readEvents(await textOf(await response(open('m', host))));
  t.true(done);
  const text = events
    .map(
      ({ choices }) =>
        ((choices as JsonObject[] | undefined)?.[0]?.delta as JsonObject | undefined)?.content ?? '',
    )
    .join('');
  t.is(text, 'ab');
});

test('a stream that goes on after [DONE] is over all the same', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(chunk('a') + END);
    res.write(chunk('never'));
  });
  const text = await textOf(await response(open('m', host)));
  t.false(text.includes('never'));
  t.true(readEvents(text).done);
});

test('usage in the last chunk and in every chunk is kept from who did not ask', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    res.write(chunk('the word "usage": {} in text', { usage: null }));
    res.write(chunk('b', { usage, vendor: { usage: 'kept' } }));
    res.write(
      `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}], "usage" : {"prompt_tokens":1,"completion_tokens":2,"total_tokens":3} }\n\n`,
    );
    res.end(`data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  const text = await textOf(await response(open('m', host)));
  const { events, done } = readEvents(text);
  t.true(done);
  t.is(events.length, 3);
  for (const event of events) t.false('usage' in event);
  t.deepEqual(events[1]!.vendor, { usage: 'kept' });
  t.is(
    ((events[0]!.choices as JsonObject[])[0]!.delta as JsonObject).content,
    'the word "usage": {} in text',
  );
});

test('the client leaves: the provider’s socket is closed', async (t) => {
  let closed = 0;
  const host = await server(t, (req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => res.write(chunk('x')), 20);
    req.socket.on('close', () => {
      clearInterval(timer);
      closed++;
    });
  });
  const req = open('m', host);
  const res = await response(req);
  await once(res, 'data');
  req.destroy();
  await until(() => closed === 1);
  t.is(closed, 1);
});

test('the client leaves before the first event: the provider’s socket is closed', async (t) => {
  let here = false;
  let closed = false;
  const host = await server(t, (req) => {
    here = true;
    req.socket.on('close', () => {
      closed = true;
    });
  });
  const req = open('m', host);
  await until(() => here);
  req.destroy();
  await until(() => closed);
  t.true(closed);
});

test('a slow reader is not buffered for', async (t) => {
  let written = 0;
  const event = chunk('x'.repeat(16_000));
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      while (!res.destroyed) {
        written += event.length;
        if (!res.write(event)) {
          res.once('drain', more);
          return;
        }
      }
    };
    more();
  });
  const req = open('m', host);
  const res = await response(req);
  res.pause();
  await until(async () => {
    const before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before === written;
  }, 10_000);
  t.true(written < 64 * 1024 * 1024, `${written} bytes were taken for a reader that reads nothing`);
  // It goes on when it reads again.
  const stopped = written;
  res.resume();
  await until(() => written > stopped + 1_000_000);
  req.destroy();
});

test('an event over the bound ends the stream with an error, not with memory', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(chunk('a'));
    const piece = 'x'.repeat(1024 * 1024);
    res.write('data: ');
    let left = 40;
    const more = (): void => {
      while (left-- > 0 && !res.destroyed) if (!res.write(piece)) return void res.once('drain', more);
    };
    more();
  });
  const { events, done } = readEvents(await textOf(await response(open('m', host))));
  t.false(done);
  t.is(events.length, 2);
  t.like(events[1]!.error, { code: 'upstream_garbage' });
});

test('100 streams at once, each whole', async (t) => {
  const texts = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const res = await response(open('pace-5'));
      return textOf(res);
    }),
  );
  for (const text of texts) {
    const { events, done } = readEvents(text);
    t.true(done);
    t.is(events.length, 17);
  }
  const metrics = await raw(bench.gateway.origin, { path: '/metrics' });
  t.regex(metrics.text, /sluice_calls_in_flight \d+/);
});
