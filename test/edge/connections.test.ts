// HTTP/1 connections through the front door: split requests, pipelining, keep-alive, odd requests between ordinary ones.
import test, { type ExecutionContext } from 'ava';
import { type Bench, type JsonObject, readEvents, startBench } from '../contract/runner.ts';
import { until } from './child.ts';
import { post, Wire, type WireAnswer } from './wire.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_BODY_LIMIT: '128KiB' });
});
test.after.always(() => bench?.close());

let count = 0;
const trace = (): string => `connection-${++count}`;
const chat = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'hé' }],
  ...more,
});
const headers = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...bench.headers(''),
  'x-gateway-trace-id': trace(),
  ...more,
});

function open(t: ExecutionContext, first?: string | Buffer): Wire {
  const wire = new Wire(bench.gateway.port);
  t.teardown(() => void wire.socket.destroy());
  return first === undefined ? wire : wire.write(first);
}

/** Without what differs from one call to the next. */
const same = ({ lines, body }: WireAnswer): object => ({
  lines: lines.map((line) => line.replace(/^(date|x-gateway-(?:request|trace)-id): .*/i, '$1')),
  body,
});
const modelOf = ({ body }: WireAnswer): string => String((JSON.parse(body) as JsonObject).model);

test('an answer says how long its connection is held', async (t) => {
  const id = trace();
  const answer = await open(t, post(headers({ 'x-gateway-trace-id': id }), chat('gpt-ok'))).answer();
  t.is(answer.status, 200);
  t.is(answer.headers['x-gateway-trace-id'], id);
  t.true(Math.abs(Date.parse(answer.headers.date ?? '') - Date.now()) < 3000);
  t.like(answer.headers, { connection: 'keep-alive', 'keep-alive': 'timeout=65' });
});

test('a request that is split anywhere is answered as a whole one', async (t) => {
  const bytes = post(headers({ 'x-gateway-trace-id': 'split' }), chat('gpt-ok'));
  const whole = same(await open(t, bytes).answer());
  const places = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1);
  for (let at = 0; at < places.length; at += 50)
    await Promise.all(
      places.slice(at, at + 50).map(async (place) => {
        const wire = open(t, bytes.subarray(0, place));
        await new Promise((resolve) => setTimeout(resolve, 5));
        t.deepEqual(same(await wire.write(bytes.subarray(place)).answer()), whole, `at ${place}`);
        wire.socket.destroy();
      }),
    );
});

test('a request that comes byte by byte is answered as a whole one', async (t) => {
  const bytes = post(headers({ 'x-gateway-trace-id': 'bytes' }), chat('gpt-ok'));
  const wire = open(t, bytes);
  const whole = same(await wire.answer());
  for (const byte of bytes) {
    wire.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.deepEqual(same(await wire.answer()), whole);
});

const chunked = (body: string): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const oddOnes: readonly (readonly [
  string,
  (wire: Wire, id: string, t: ExecutionContext) => Promise<void>,
])[] = [
  [
    'a GET',
    async (wire, id, t) => {
      wire.write(`GET /v1/models HTTP/1.1\r\nhost: x\r\nx-gateway-trace-id: ${id}\r\n\r\n`);
      t.is((await wire.answer()).status, 401);
    },
  ],
  [
    'a stream',
    async (wire, id, t) => {
      wire.write(post(headers({ 'x-gateway-trace-id': id }), chat('gpt-ok', { stream: true })));
      t.is((await wire.answer()).headers['content-type'], 'text/event-stream; charset=utf-8');
    },
  ],
  [
    'a chunked body',
    async (wire, id, t) => {
      const [head] = post(headers({ 'x-gateway-trace-id': id }), '')
        .toString()
        .split('content-length');
      wire.write(`${head}transfer-encoding: chunked\r\n\r\n${chunked('{"model":"gpt-ok","messages":[]}')}`);
      t.regex((await wire.answer()).body, /messages/);
    },
  ],
  [
    'a 100-continue',
    async (wire, id, t) => {
      const bytes = post(headers({ 'x-gateway-trace-id': id, expect: '100-continue' }), chat('gpt-ok'));
      const head = bytes.indexOf('\r\n\r\n') + 4;
      wire.write(bytes.subarray(0, head));
      t.is((await wire.answer()).status, 100);
      t.is(modelOf(await wire.write(bytes.subarray(head)).answer()), 'gpt-ok');
    },
  ],
  [
    'a long body',
    async (wire, id, t) => {
      wire.write(post(headers({ 'x-gateway-trace-id': id }), chat('gpt-ok', { user: 'x'.repeat(70_000) })));
      t.is(modelOf(await wire.answer()), 'gpt-ok');
    },
  ],
  [
    'a list of connection options',
    async (wire, id, t) => {
      wire.write(
        post(headers({ 'x-gateway-trace-id': id, connection: 'keep-alive, x-hop' }), chat('gpt-ok')),
      );
      t.is(modelOf(await wire.answer()), 'gpt-ok');
    },
  ],
];

for (const [name, odd] of oddOnes) {
  test(`a call, then ${name}, then a call on one connection`, async (t) => {
    const [before, id, after] = [trace(), trace(), trace()];
    const wire = open(t);
    const one = await wire.write(post(headers({ 'x-gateway-trace-id': before }), chat('one'))).answer();
    t.is(modelOf(one), 'one');
    await odd(wire, id, t);
    const two = await wire.write(post(headers({ 'x-gateway-trace-id': after }), chat('two'))).answer();
    t.is(modelOf(two), 'two');
    t.is(two.headers['x-gateway-trace-id'], after);
  });
}

test('requests in one packet are answered in order', async (t) => {
  for (const models of [
    ['slow-50', 'b'],
    ['slow-60', 'slow-5', 'c'],
  ]) {
    const wire = open(t, Buffer.concat(models.map((model) => post(headers(), chat(model)))));
    for (const model of models) t.is(modelOf(await wire.answer()), model);
  }
});

test('requests that come while one runs are answered in order', async (t) => {
  const prefix = bench.mark();
  const host = { 'x-gateway-custom-host': bench.provider.origin + prefix };
  const wire = open(t, post(headers(host), chat('slow-100')));
  await until(() => bench.sentTo(prefix).length === 1);
  wire.write(post(headers(host), chat('slow-60')));
  const third = post(headers(), chat('c'));
  wire.write(third.subarray(0, 100));
  t.is(modelOf(await wire.answer()), 'slow-100');
  t.is(modelOf(await wire.answer()), 'slow-60');
  t.is(modelOf(await wire.write(third.subarray(100)).answer()), 'c');
});

test('a stream that is asked for with an escape is a stream', async (t) => {
  const body = JSON.stringify(chat('gpt-ok', { stream: true })).replace('"stream"', '"str\\u0065am"');
  const answer = await open(t, post(headers(), body)).answer();
  t.is(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
});

test('a connection that is asked to end does, after its answer', async (t) => {
  const bytes = post(headers({ connection: 'close' }), chat('gpt-ok'));
  for (const one of [
    bytes,
    Buffer.from(bytes.toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'), 'latin1'),
  ]) {
    const wire = open(t, one);
    const answer = await wire.answer();
    t.is(modelOf(answer), 'gpt-ok');
    t.is(answer.headers.connection, 'close');
    t.is(await wire.ended(), '');
  }
});

const long = (name: string): object => chat('gpt-ok', { [name]: 'x'.repeat(140_000) });
const cases: readonly (readonly [string, number, () => Buffer])[] = [
  ['no JSON', 400, () => post(headers(), '{"model":')],
  ['no body', 400, () => post(headers(), '')],
  ['no UTF-8', 400, () => Buffer.concat([post(headers(), '""').subarray(0, -1), Buffer.of(0xff)])],
  ['a list', 400, () => post(headers(), '[]')],
  ['null', 400, () => post(headers(), 'null')],
  ['a deep one', 400, () => post(headers(), '['.repeat(60_000))],
  ['a wrong type', 400, () => post(headers(), { model: 5, messages: [] })],
  ['a missing member', 400, () => post(headers(), {})],
  ['a bad header', 400, () => post(headers({ 'x-gateway-config': '{' }), chat('gpt-ok'))],
  ['a bad time', 400, () => post(headers({ 'x-gateway-request-timeout': 'soon' }), chat('gpt-ok'))],
  ['no key', 401, () => post(headers({ 'x-gateway-api-key': 'slk_wrong' }), chat('gpt-ok'))],
  ['no text', 415, () => post(headers({ 'content-type': 'text/plain' }), chat('gpt-ok'))],
  ['a packed body that is none', 400, () => post(headers({ 'content-encoding': 'gzip' }), '{}')],
  ['too long a body', 413, () => post(headers(), long('user'))],
  ['what is passed on', 404, () => post(headers(), {}, '/v2/nothing/there')],
  ['no operation', 405, () => post(headers(), {}, '/v2/logs/one')],
  ['nothing there', 404, () => post(headers(), {}, '/nothing')],
  ['what the provider refuses', 429, () => post(headers(), chat('status-429'))],
  ['what the provider breaks off', 502, () => post(headers(), chat('reset'))],
  ['a time that runs out', 408, () => post(headers({ 'x-gateway-request-timeout': '30' }), chat('hang'))],
  ['embeddings', 200, () => post(headers(), { model: 'm', input: 'x' }, '/v1/embeddings')],
  ['the other base', 200, () => post(headers(), chat('gpt-ok'), '/v2/chat/completions')],
  [
    'names that every object has',
    200,
    () => post(headers({ 'x-gateway-forward-headers': 'constructor, toString, __proto__' }), chat('gpt-ok')),
  ],
  ['a query', 200, () => post(headers(), chat('gpt-ok'), '/v1/chat/completions?x=%ff')],
  ['a false stream', 200, () => post(headers(), chat('gpt-ok', { stream: false }))],
  ['a config', 200, () => post(headers({ 'x-gateway-config': '{"retry":{"attempts":1}}' }), chat('gpt-ok'))],
];

for (const [name, status, bytes] of cases) {
  test(`${name}: ${status}, and the connection lives on where it may`, async (t) => {
    const wire = open(t, bytes());
    const answer = await wire.answer();
    t.is(answer.status, status, answer.body);
    if (answer.headers.connection === 'close') t.is(await wire.ended(), '');
    else t.is(modelOf(await wire.write(post(headers(), chat('next'))).answer()), 'next');
  });
}

test('answers of every length come whole', async (t) => {
  for (const length of [10, 16_000, 17_000, 70_000, 3_000_000]) {
    const content = 'é'.repeat(length / 2);
    const prefix = bench.mark();
    bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
      const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }];
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }));
    });
    const wire = open(t, post(headers(bench.headers(prefix)), chat('m')));
    t.true((await wire.answer()).body.includes(content));
    t.is(modelOf(await wire.write(post(headers(), chat('next'))).answer()), 'next');
  }
});

test('a stream on a connection that had a call ends with [DONE]', async (t) => {
  const wire = open(t, post(headers(), chat('gpt-ok')));
  await wire.answer();
  const { body } = await wire.write(post(headers(), chat('gpt-ok', { stream: true }))).answer();
  const text = body.replaceAll(/^[0-9a-f]+\r\n/gm, '').replaceAll('\r\n', '');
  t.true(readEvents(text).done);
});

test.after('no request failed inside', (t) => {
  const failed = /the edge failed|a call failed|could not be written/;
  t.deepEqual(
    bench.gateway.logLines.filter((line) => failed.test(line)),
    [],
  );
});
