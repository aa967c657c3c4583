// The gateway's own headers: timeout, metadata, trace id, forward-headers.

import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import test from 'ava';
import { ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Answered,
  type Bench,
  bad,
  type Case,
  type JsonObject,
  runCases,
  startBench,
  UUID,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };
type Check = NonNullable<Case['check']>;
type T = Parameters<Check>[0];

const refused = (header: string, value: string, message?: string | RegExp): Case => ({
  name: `${header}: ${value.slice(0, 50)} (${value.length}) is refused`,
  method,
  body,
  headers: { [header]: value },
  refused: bad('invalid_header', header, message),
});

const accepted = (header: string, value: string, check?: Check): Case => ({
  name: `${header}: ${value.slice(0, 50)} (${value.length}) is accepted`,
  method,
  body,
  headers: { [header]: value },
  check: (t, answer) => {
    t.is(answer.json.id, 'chatcmpl-1');
    check?.(t, answer);
  },
});

const TIMEOUT = 'x-gateway-request-timeout';
const METADATA = 'x-gateway-metadata';
const TRACE = 'x-gateway-trace-id';
const FORWARD = 'x-gateway-forward-headers';
const members = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v'])));

const timedOut = (name: string, model: string, stream: boolean): Case => ({
  name,
  method,
  body: { ...body, model, ...(stream ? { stream } : {}) },
  headers: { [TIMEOUT]: '150' },
  refused: {
    status: 408,
    code: Code.DeadlineExceeded,
    reason: 'request_timeout',
    param: '',
    message: '150 ms',
    upstream: true,
  },
});

const sentHeader =
  (expected: Readonly<Record<string, string | undefined>>): Check =>
  (t: T, { sent }: Answered) => {
    for (const [name, value] of Object.entries(expected)) t.is(sent[0]!.headers[name], value, name);
  };

const CASES: Case[] = [
  accepted(TIMEOUT, '30000'),
  accepted(TIMEOUT, '86400000'),
  ...['0', '-1', '1.5', '1e3', '1s', '', '86400001', '99999999999999999999', 'NaN'].map((value) =>
    refused(TIMEOUT, value, 'whole number of milliseconds'),
  ),
  timedOut('a silent provider is 408 when the time is up', 'hang', false),
  timedOut('a silent provider of a stream is 408 when the time is up', 'hang', true),
  timedOut('a slow provider is 408 when the time is up', 'slow-5000', false),
  {
    name: 'time that is up in mid-stream is a typed event',
    method,
    body: { ...body, model: 'stall-60000', stream: true },
    headers: { [TIMEOUT]: '4000' },
    over: ['rest'],
    check: (t, { events, complete }) => {
      t.false(complete, 'no [DONE] after an error');
      const last = events.at(-1)!;
      t.is(last.status, 'failure');
      t.like(last.error, { code: 'request_timeout', type: 'timeout_error', param: null });
      t.is((events[0]!.choices as JsonObject[]).length, 1);
      t.is(events.length, 4);
    },
  },

  accepted(METADATA, '{"_user":"ann","n":1,"b":true,"o":{"a":[1]},"nil":null}'),
  accepted(METADATA, '{}'),
  accepted(METADATA, ''),
  accepted(METADATA, members(64)),
  accepted(METADATA, JSON.stringify({ k: 'v'.repeat(2048) })),
  accepted(METADATA, JSON.stringify({ ['k'.repeat(128)]: 'v' })),
  refused(METADATA, '{', 'valid JSON'),
  refused(METADATA, 'user=ann', 'valid JSON'),
  refused(METADATA, '[]', 'JSON object'),
  refused(METADATA, '"x"', 'JSON object'),
  refused(METADATA, 'null', 'JSON object'),
  refused(METADATA, members(65), '64 members'),
  refused(METADATA, JSON.stringify({ k: 'v'.repeat(2049) }), '2048'),
  refused(METADATA, JSON.stringify({ ['k'.repeat(129)]: 'v' }), '128'),
  refused(METADATA, '{"":"v"}', '1 to 128'),

  accepted(TRACE, 'my-trace/1:2', (t, { headers }) => t.is(headers.get(TRACE), 'my-trace/1:2')),
  accepted(TRACE, 'x'.repeat(255), (t, { headers }) => t.is(headers.get(TRACE), 'x'.repeat(255))),
  accepted(TRACE, '', (t, { headers }) => t.regex(headers.get(TRACE)!, UUID)),
  refused(TRACE, 'x'.repeat(256), '255'),
  refused(TRACE, 'with a blank', 'printable'),
  {
    name: 'an error carries the caller’s trace id',
    method,
    body: { ...body, model: '' },
    headers: { [TRACE]: 'trace-of-an-error' },
    refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed' },
  },

  {
    name: 'forward-headers: a comma list',
    method,
    body,
    headers: { [FORWARD]: 'X-One, x-two,x-absent', 'x-one': '1', 'x-two': 'zwei; q=1', 'x-three': '3' },
    check: sentHeader({ 'x-one': '1', 'x-two': 'zwei; q=1', 'x-three': undefined, 'x-absent': undefined }),
  },
  {
    name: 'forward-headers: a JSON array, names in their original form',
    method,
    body,
    headers: { [FORWARD]: '["X-One","x-two"]', 'x-one': '1', 'x-two': '2' },
    check: (t, answer) => {
      sentHeader({ 'x-one': '1', 'x-two': '2' })(t, answer);
      t.true(answer.sent[0]!.rawHeaders.includes('X-One'));
    },
  },
  {
    name: 'headers are not forwarded unasked',
    method,
    body,
    headers: { 'x-one': '1', cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' },
    check: sentHeader({ 'x-one': undefined, cookie: undefined, 'x-forwarded-for': undefined }),
  },
  {
    name: 'forward-headers: the provider’s own options keep their place',
    method,
    body,
    headers: { [FORWARD]: 'authorization,accept', accept: 'text/plain' },
    check: sentHeader({ authorization: 'Bearer sk-provider-secret-0123456789', accept: 'application/json' }),
  },
  accepted(FORWARD, ''),
  refused(FORWARD, '["x-one",7]', 'JSON array'),
  refused(FORWARD, '["x-one"', 'valid JSON'),
  refused(FORWARD, 'x one', 'header names'),
  refused(FORWARD, 'x-one;x-two', 'header names'),
  refused(FORWARD, 'x-gateway-api-key', 'stay here'),
  refused(FORWARD, 'X-Gateway-Config', 'stay here'),
  ...[
    'connection',
    'Host',
    'transfer-encoding',
    'content-length',
    'te',
    'upgrade',
    'proxy-authorization',
  ].map((name) => refused(FORWARD, `x-ok, ${name}`, name)),
  refused(FORWARD, Array.from({ length: 65 }, (_, i) => `x-${i}`).join(','), '64'),
];

runCases(test, () => bench, CASES);

test('gRPC: time that is up in mid-stream ends the stream with DeadlineExceeded and the typed detail', async (t) => {
  for (const transport of [bench.transports.grpc, bench.transports.connect]) {
    const { streamChatCompletion } = ChatService.method;
    const input = create(streamChatCompletion.input, {
      model: 'stall-60000',
      messages: [{ role: 'user', content: { kind: { case: 'text', value: 'x' } } }],
    });
    const headers = { ...bench.headers(bench.mark()), [TIMEOUT]: '4000' };
    const answer = await transport.stream(
      streamChatCompletion,
      undefined,
      undefined,
      headers,
      (async function* () {
        yield input;
      })(),
    );
    let count = 0;
    const error = await t.throwsAsync(
      async () => {
        for await (const _ of answer.message) count++;
      },
      { instanceOf: ConnectError },
    );
    t.is(count, 3);
    t.is(error?.code, Code.DeadlineExceeded);
    const [detail] = error!.findDetails(ErrorDetailSchema);
    t.is(detail?.reason, 'request_timeout');
    t.is(detail?.httpStatus, 408);
  }
});

test('metadata is kept as text in the log, and the trace id finds it', async (t) => {
  const trace = 'trace-of-metadata';
  const { origin } = bench.gateway;
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...bench.headers(bench.mark()),
      'content-type': 'application/json',
      [TRACE]: trace,
      // The bytes of a header are UTF-8; fetch sends Latin-1.
      [METADATA]: Buffer.from('{"_user":"Zoë","n":1,"o":{"a":[1,null]},"t":true}', 'utf8').toString('latin1'),
    },
    body: JSON.stringify(body),
  });
  t.is(answer.status, 200);
  const logs = await fetch(`${origin}/v1/logs?trace_id=${trace}`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  const { data, total } = (await logs.json()) as { data: JsonObject[]; total: number };
  t.is(total, 1);
  t.deepEqual(data[0]!.metadata, { _user: 'Zoë', n: '1', o: '{"a":[1,null]}', t: 'true' });
  t.is(data[0]!.id, answer.headers.get('x-gateway-request-id'));
});
