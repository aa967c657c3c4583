// Configs of several targets, retries, timeouts and parameters, over every protocol: what is called, and what the
// answer says of it.
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ConfigExplanationService } from '../../gen/gateway/inference/v2/config_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { when } from '../inference/plan/facts.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Answered,
  type Bench,
  bad,
  type Case,
  invalid,
  type JsonObject,
  type Refusal,
  readEvents,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };

/** A target of the fake provider that asks for a model, which says how it behaves. */
const target = (host: string, model: string, more: JsonObject = {}): JsonObject => ({
  provider: 'openai',
  api_key: 'k1',
  custom_host: host,
  override_params: { model },
  ...more,
});
const strategyOf = (mode: string, more: JsonObject = {}): JsonObject => ({ strategy: { mode, ...more } });

/** What the answer's headers say: index, retries, cache. */
const says = (answer: Answered): (string | null)[] =>
  ['last-used-option-index', 'retry-attempt-count', 'cache-status'].map((name) =>
    answer.headers.get(`x-gateway-${name}`),
  );
const models = ({ sent }: Answered): string[] =>
  sent.map(({ body: bytes }) => String((JSON.parse(bytes.toString()) as JsonObject).model));
const sentBody = ({ sent }: Answered, i = 0): JsonObject =>
  JSON.parse(sent[i]!.body.toString()) as JsonObject;
const status = (code: number, grpc: Code): Refusal => ({
  status: code,
  code: grpc,
  reason: 'upstream_status',
  errorCode: 'fake_code',
  provider: 'openai',
  upstream: true,
});

const both = (one: Case): Case[] => [
  one,
  { ...one, name: `${one.name}, streamed`, body: { ...(one.body ?? body), stream: true } },
];

const CASES: Case[] = [
  ...both({
    name: 'fallback moves on from every error',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback'),
      targets: ['status-400', 'status-401', 'status-429', 'status-500', 'reset', 'gpt-ok', 'never'].map(
        (model) => target(host, model),
      ),
    }),
    check: (t, answer) => {
      t.deepEqual(models(answer), [
        'status-400',
        'status-401',
        'status-429',
        'status-500',
        'reset',
        'gpt-ok',
      ]);
      t.deepEqual(says(answer), ['config.targets[5]', '0', 'DISABLED']);
      t.is(answer.headers.get('x-gateway-provider'), 'openai');
    },
  }),
  ...both({
    name: 'fallback on listed codes gives any other answer',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback', { on_status_codes: [429] }),
      targets: [target(host, 'status-429'), target(host, 'status-503'), target(host, 'gpt-ok')],
    }),
    refused: { ...status(503, Code.Unavailable), message: 'status-503' },
  }),
  {
    name: 'fallback when nobody listens',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback'),
      targets: [
        target('http://127.0.0.1:59', 'a'),
        target('http://127.0.0.1:59', 'b'),
        target(host, 'gpt-ok'),
      ],
    }),
    check: (t, answer) => t.deepEqual(says(answer)[0], 'config.targets[2]'),
  },
  {
    name: 'fallback past a provider that does not have the operation',
    method: EmbeddingsService.method.createEmbeddings,
    body: { model: 'e', input: 'x' },
    config: (host) => ({
      ...strategyOf('fallback', { on_status_codes: [429] }),
      targets: [
        { provider: 'anthropic', api_key: 'k2', custom_host: host },
        { provider: 'openai', api_key: 'k1', custom_host: host },
      ],
    }),
    check: (t, answer) => t.is(says(answer)[0], 'config.targets[1]'),
  },
  {
    name: 'a stream falls back until its first event',
    method,
    body: { ...body, stream: true },
    config: (host) => ({
      ...strategyOf('fallback'),
      targets: [target(host, 'stream-error-first'), target(host, 'reset'), target(host, 'gpt-ok')],
    }),
    check: (t, answer) => {
      t.true(answer.complete);
      t.deepEqual(models(answer), ['stream-error-first', 'reset', 'gpt-ok']);
    },
  },
  {
    name: 'a stream that breaks later ends in an error and not in another target',
    method,
    body: { ...body, stream: true },
    config: (host) => ({ ...strategyOf('fallback'), targets: [target(host, 'cut'), target(host, 'gpt-ok')] }),
    check: (t, answer) => {
      t.false(answer.complete);
      t.deepEqual(models(answer), ['cut']);
      if (answer.protocol === 'rest')
        t.like(answer.events.at(-1), { status: 'failure', error: { code: 'upstream_interrupted' } });
    },
  },
  {
    name: 'nested strategies have nested paths',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback'),
      targets: [
        {
          ...strategyOf('loadbalance'),
          targets: [target(host, 'status-500'), target(host, 'never', { weight: 0 })],
        },
        { ...strategyOf('single'), targets: [target(host, 'gpt-ok')] },
      ],
    }),
    check: (t, answer) => {
      t.is(says(answer)[0], 'config.targets[1].targets[0]');
      t.deepEqual(models(answer), ['status-500', 'gpt-ok']);
    },
  },
  ...both({
    name: 'a retry that succeeds',
    method,
    body,
    config: (host) =>
      target(host, `flaky-2-${Math.random()}`, { retry: { attempts: 4, use_retry_after_header: true } }),
    check: (t, answer) => {
      t.deepEqual(says(answer), ['config', '2', 'DISABLED']);
      t.is(answer.sent.length, 3);
    },
  }),
  {
    name: 'retries that are exhausted',
    method,
    body,
    config: (host) =>
      target(host, `flaky-9-${Math.random()}`, { retry: { attempts: 1, use_retry_after_header: true } }),
    refused: { ...status(429, Code.ResourceExhausted), errorCode: 'rate_limited' },
  },
  {
    name: 'weights: what has none of it is never chosen',
    method,
    body,
    config: (host) => ({
      ...strategyOf('loadbalance'),
      targets: [target(host, 'never', { weight: 0 }), target(host, 'gpt-ok', { weight: 0.001 })],
    }),
    check: (t, answer) => t.is(says(answer)[0], 'config.targets[1]'),
  },
  {
    name: 'a load balance does not move on by itself',
    method,
    body,
    config: (host) => ({
      ...strategyOf('loadbalance'),
      targets: [target(host, 'status-500'), target(host, 'status-500')],
    }),
    refused: status(500, Code.Internal),
  },
  ...conditional('by metadata', { 'metadata.tier': { $eq: 'gold' } }, { tier: 'gold' }),
  ...conditional('by a number of metadata', { 'metadata.n': { $gt: 4, $lte: 5 } }, { n: 5 }),
  ...conditional('by nested metadata', { 'metadata.a.b': { $in: ['x', 'y'] } }, { a: { b: 'y' } }),
  ...conditional('by a parameter', { 'params.model': { $regex: '^gpt-(ok|4)' } }),
  ...conditional('by a nested parameter', { 'params.messages[0].content': 'x' }),
  ...conditional('by the path', { 'url.pathname': { $regex: '/chat/' } }),
  ...conditional(
    'by $and',
    { $and: [{ 'params.model': 'gpt-ok' }, { 'metadata.u': { $ne: 'b' } }] },
    { u: 'a' },
  ),
  ...conditional(
    'by $or',
    { $or: [{ 'params.model': 'no' }, { 'metadata.u': { $nin: ['b'] } }] },
    { u: 'a' },
  ),
  {
    name: 'no condition holds and there is no default',
    method,
    body,
    config: (host) => ({
      ...strategyOf('conditional', { conditions: [when({ 'metadata.x': '1' }, 'a') as JsonObject] }),
      targets: [target(host, 'gpt-ok', { name: 'a' })],
    }),
    refused: bad('config_invalid', 'strategy.conditions', 'no condition holds'),
  },
  {
    name: 'parameters: defaults, overrides, and what is taken out',
    method,
    body: { ...body, temperature: 1, user: 'u', metadata: { a: 'b', c: 'd' } },
    config: (host) => ({
      ...target(host, 'gpt-ok'),
      default_params: { temperature: 0.5, top_p: 0.25 },
      override_params: { model: 'gpt-4', seed: 7, vendor_member: { x: [1] } },
      drop_params: ['user', 'metadata.a', 'not.there', 'messages[*].name'],
    }),
    check: (t, answer) =>
      t.deepEqual(sentBody(answer), {
        ...body,
        model: 'gpt-4',
        temperature: 1,
        top_p: 0.25,
        seed: 7,
        metadata: { c: 'd' },
        vendor_member: { x: [1] },
      }),
  },
  {
    name: 'an override does not turn a stream into a whole answer',
    method,
    body: { ...body, stream: true },
    config: (host) => ({ ...target(host, 'gpt-ok'), override_params: { stream: false } }),
    check: (t, answer) => {
      t.true(answer.complete);
      t.true(answer.events.length > 2);
    },
  },
  {
    name: 'each target gets its own credential and headers',
    method,
    body: { ...body, max_tokens: 5 },
    headers: { 'x-team': 'blue', authorization: 'Bearer sk-of-the-caller' },
    config: (host) => ({
      ...strategyOf('fallback'),
      forward_headers: ['x-team'],
      targets: [
        {
          provider: 'openai',
          api_key: 'key-one',
          custom_host: `${host}/one`,
          override_params: { model: 'status-500' },
        },
        {
          provider: 'anthropic',
          api_key: 'key-two',
          custom_host: `${host}/two`,
          override_params: { model: 'gpt-ok' },
        },
      ],
    }),
    check: (t, { sent }) => {
      t.is(sent[0]!.headers.authorization, 'Bearer key-one');
      t.is(sent[0]!.headers['x-team'], 'blue');
      t.is(sent[1]!.headers['x-api-key'], 'key-two');
      t.is(sent[1]!.headers.authorization, undefined);
      for (const one of sent) t.false(JSON.stringify(one.headers).includes('sk-of-the-caller'));
    },
  },
  {
    name: 'targets without a provider take the one of the headers',
    method,
    body,
    config: () => ({
      ...strategyOf('fallback'),
      targets: ['status-500', 'gpt-ok'].map((model) => ({ override_params: { model } })),
    }),
    headers: {
      'x-gateway-provider': 'openai',
      authorization: 'Bearer sk-of-the-caller',
      get 'x-gateway-custom-host'() {
        return `${bench.provider.origin}/by-header`;
      },
    },
    check: (t, answer) => t.is(says(answer)[0], 'config.targets[1]'),
  },
  ...both({
    name: 'an explanation, when it is asked for',
    method,
    body,
    headers: { 'x-gateway-explain': 'true' },
    config: (host) => ({
      ...strategyOf('fallback'),
      targets: [target(host, 'status-500'), target(host, 'gpt-ok')],
    }),
    check: (t, answer) => {
      const [first, ...rest] = answer.events.length > 0 ? answer.events : [answer.json];
      const explain = first!.gateway_explain as JsonObject;
      t.is(explain.target, 'config.targets[1]');
      t.is(explain.max_attempts, 2);
      t.like((explain.plan as JsonObject).targets, [{ path: 'config.targets[0]', provider: 'openai' }]);
      t.deepEqual(
        (explain.steps as JsonObject[]).map(({ step, path }) => [step, path]),
        [
          ['attempt', 'config.targets[0]'],
          ['move_on', 'config.targets[0]'],
          ['attempt', 'config.targets[1]'],
        ],
      );
      t.false(JSON.stringify(explain).includes('k1'));
      t.true(((first!.choices as JsonObject[]).length ?? 0) > 0);
      for (const event of rest) t.false('gateway_explain' in event);
    },
  }),
];

function conditional(name: string, query: object, metadata: JsonObject = {}): Case[] {
  return [
    {
      name: `conditional ${name}`,
      method,
      body,
      headers: { 'x-gateway-metadata': JSON.stringify(metadata) },
      config: (host) => ({
        ...strategyOf('conditional', { conditions: [when(query, 'yes') as JsonObject], default: 'no' }),
        targets: [target(host, 'no', { name: 'no' }), target(host, 'gpt-ok', { name: 'yes' })],
      }),
      check: (t, answer) => t.deepEqual(models(answer), ['gpt-ok']),
    },
  ];
}

/** Their times hold where nothing else runs. */
const TIMED: Case[] = [
  {
    name: 'an attempt that takes too long is 408',
    method,
    body,
    config: (host) => target(host, 'slow-5000', { request_timeout: 60 }),
    refused: {
      status: 408,
      code: Code.DeadlineExceeded,
      reason: 'request_timeout',
      message: '60 ms',
      upstream: true,
    },
  },
  {
    name: 'an attempt that takes too long moves on',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback'),
      request_timeout: 60,
      targets: [target(host, 'slow-5000'), target(host, 'gpt-ok', { request_timeout: 20_000 })],
    }),
    check: (t, answer) => t.is(says(answer)[0], 'config.targets[1]'),
  },
  {
    name: 'a stream’s time ends with its first event',
    method,
    body: { ...body, stream: true },
    config: (host) => target(host, 'stall-900', { request_timeout: 800 }),
    check: (t, answer) => t.true(answer.complete),
  },
  ...both({
    name: 'a hedge answers first',
    method,
    body,
    config: (host) => ({
      ...strategyOf('fallback', { hedge: { after_ms: 100 } }),
      targets: [target(host, 'slow-4000'), target(host, 'gpt-ok')],
    }),
    check: (t, answer) => {
      t.is(says(answer)[0], 'config.targets[1]');
      t.true(models(answer).includes('gpt-ok'));
    },
  }),
];

runCases(test.serial as typeof test, () => bench, TIMED);
runCases(test, () => bench, CASES);

test('errors say what was tried, and why when it is asked', async (t) => {
  const host = bench.provider.origin + bench.mark();
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-explain': 'true',
      'x-gateway-config': JSON.stringify({
        ...strategyOf('fallback'),
        targets: [target(host, 'status-500'), target(host, 'status-503')],
      }),
    },
    body: JSON.stringify(body),
  });
  t.is(answer.status, 503);
  t.is(answer.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  t.is(answer.headers.get('x-gateway-retry-attempt-count'), '0');
  t.is(answer.headers.get('x-gateway-provider'), 'openai');
  const json = (await answer.json()) as JsonObject;
  t.like(json, { status: 'failure', gateway_explain: { target: 'config.targets[1]' } });
  t.is(((json.gateway_explain as JsonObject).attempts as JsonObject[]).length, 2);
});

const explained = ConfigExplanationService.method.explainConfig;
const CONFIG: JsonObject = {
  ...strategyOf('conditional', {
    conditions: [
      when({ 'metadata.tier': 'gold' }, 'best') as JsonObject,
      when({ 'params.max_tokens': { $gt: 100 } }, 'large') as JsonObject,
    ],
    default: 'rest',
  }),
  targets: [
    { name: 'best', provider: 'openai', api_key: 'sk-secret', retry: { attempts: 2 } },
    {
      name: 'large',
      ...strategyOf('fallback'),
      targets: [
        { provider: 'openai', api_key: 'sk-secret' },
        { provider: 'groq', api_key: 'sk-secret' },
      ],
    },
    { name: 'rest', provider: 'groq', api_key: 'sk-secret' },
  ],
};

runCases(test, () => bench, [
  {
    name: 'POST /configs/explain: a dry run',
    method: explained,
    body: { config: CONFIG, params: { max_tokens: 1000 }, metadata: { tier: 'silver' } },
    check: (t, { json, sent }) => {
      t.is(sent.length, 0);
      t.is(json.object, 'config.explanation');
      t.deepEqual(json.targets, ['config.targets[1].targets[0]', 'config.targets[1].targets[1]']);
      t.deepEqual(
        (json.conditions as JsonObject[]).map(({ held }) => held),
        [false, true],
      );
      t.is(json.max_attempts, 3);
      t.is((json.plan as JsonObject).kind, 'conditional');
      t.false(JSON.stringify(json).includes('sk-secret'));
    },
  },
  {
    name: 'POST /configs/explain: by headers',
    method: explained,
    body: {},
    headers: { 'x-gateway-config': JSON.stringify(CONFIG), 'x-gateway-metadata': '{"tier":"gold"}' },
    check: (t, { json }) => t.deepEqual(json.targets, ['config.targets[0]']),
  },
  {
    name: 'POST /configs/explain: every fault',
    method: explained,
    body: { config: { strategy: { mode: 'fallback' }, targets: [{ provider: 'nobody' }, { weight: -1 }] } },
    refused: bad('config_invalid', 'targets[0].provider', /targets\[0\]\.provider: .*targets\[1\]\.weight: /),
  },
  {
    name: 'POST /configs/explain: the strategy single takes the first of its targets and says so',
    method: explained,
    body: {
      config: {
        ...strategyOf('single'),
        targets: [
          { provider: 'openai', api_key: 'a' },
          { provider: 'groq', api_key: 'b', retry: { attempts: 5 } },
        ],
      },
    },
    check: (t, { json }) => {
      t.deepEqual(json.targets, ['config.targets[0]']);
      t.deepEqual(json.passed_over, ['config.targets[1]']);
      t.is(json.max_attempts, 1);
      t.like(json.plan, { kind: 'target', provider: 'openai', passed_over: ['config.targets[1]'] });
    },
  },
  {
    name: 'POST /configs/explain: an admin key names a workspace',
    method: explained,
    headers: { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined },
    body: { config: CONFIG, workspace_id: 'default' },
    check: (t, { json }) => t.is(json.object, 'config.explanation'),
  },
  {
    name: 'POST /configs/explain: an admin key names a workspace in the metadata',
    method: explained,
    headers: {
      'x-gateway-api-key': ADMIN_KEY,
      authorization: undefined,
      'x-gateway-workspace-id': 'default',
    },
    body: { config: CONFIG },
    check: (t, { json }) => t.is(json.object, 'config.explanation'),
  },
  ...([{}, { workspace_id: 'nowhere' }] as JsonObject[]).map(
    (more, i): Case => ({
      name: `POST /configs/explain: an admin key without a workspace ${i}`,
      method: explained,
      headers: { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined },
      body: { config: CONFIG, ...more },
      refused: invalid('workspace_id'),
    }),
  ),
  {
    name: 'the strategy single calls the first of its targets',
    method: ChatService.method.createChatCompletion,
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
    config: (host) => ({
      ...strategyOf('single'),
      targets: [
        { provider: 'openai', api_key: 'a', custom_host: `${host}/first` },
        { provider: 'openai', api_key: 'b', custom_host: `${host}/second` },
      ],
    }),
    check: (t, { sent }) => {
      t.is(sent.length, 1);
      t.regex(sent[0]!.url, /\/first\//);
    },
  },
  {
    name: 'POST /configs/explain: nothing to explain',
    method: explained,
    body: {},
    refused: bad('validation_failed', 'config'),
  },
]);

test('explanations leave no entry in the log', async (t) => {
  const trace = randomUUID();
  const { origin } = bench.gateway;
  const headers = { 'x-gateway-trace-id': trace, 'content-type': 'application/json' };
  const call = (path: string, body: object): Promise<Response> =>
    fetch(`${origin}/v1${path}`, {
      method: 'POST',
      headers: { ...bench.headers('/unlogged'), ...headers },
      body: JSON.stringify(body),
    });
  t.is((await call('/configs/explain', { config: CONFIG })).status, 200);
  t.is((await call('/configs/explain', { config: { colour: 1 } })).status, 400);
  t.is(
    (await call('/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'x' }] })).status,
    200,
  );
  const answer = await fetch(`${origin}/v1/logs?trace_id=${trace}`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  const { data } = (await answer.json()) as { data: { operation: string }[] };
  t.deepEqual(
    data.map(({ operation }) => operation),
    ['gateway.inference.v2.ChatService/CreateChatCompletion'],
  );
});

const passThrough = (config: JsonObject, init: RequestInit = {}): Promise<Response> =>
  fetch(`${bench.gateway.origin}/v1/some/files?x=1`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
    },
    body: '{"a": 1}',
    ...init,
  });

test('pass-through by a fallback: the request is sent again as it was', async (t) => {
  const prefix = bench.mark();
  const origin = bench.provider.origin + prefix;
  bench.provider.next(`${prefix}/one/some/files`, (_req, res) => void res.writeHead(503).end('{"no":1}'));
  bench.provider.next(
    `${prefix}/two/some/files`,
    (_req, res) => void res.writeHead(201, { 'x-vendor': 'v' }).end('raw'),
  );
  const answer = await passThrough({
    ...strategyOf('fallback'),
    targets: ['one', 'two'].map((name) => ({
      provider: 'openai',
      api_key: name,
      custom_host: `${origin}/${name}`,
    })),
  });
  t.is(answer.status, 201);
  t.is(await answer.text(), 'raw');
  t.is(answer.headers.get('x-vendor'), 'v');
  t.is(answer.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  const sent = bench.sentTo(prefix);
  t.deepEqual(
    sent.map(({ url, headers, body: bytes }) => [url, headers.authorization, bytes.toString()]),
    [
      [`${prefix}/one/some/files?x=1`, 'Bearer one', '{"a": 1}'],
      [`${prefix}/two/some/files?x=1`, 'Bearer two', '{"a": 1}'],
    ],
  );
});

test('pass-through: the last refusal is given as it is', async (t) => {
  const prefix = bench.mark();
  const origin = bench.provider.origin + prefix;
  for (let i = 0; i < 2; i++) {
    bench.provider.next(
      `${prefix}/some/files`,
      (_req, res) => void res.writeHead(429, { 'retry-after-ms': '10', 'x-n': String(i) }).end(`busy ${i}`),
    );
  }
  const answer = await passThrough({
    provider: 'openai',
    api_key: 'k',
    custom_host: origin,
    retry: { attempts: 1, use_retry_after_header: true },
  });
  t.is(answer.status, 429);
  t.is(await answer.text(), 'busy 1');
  t.is(answer.headers.get('x-n'), '1');
  t.is(answer.headers.get('x-gateway-retry-attempt-count'), '-1');
});

test('a stream falls back behind events without content', async (t) => {
  const prefix = bench.mark();
  const origin = bench.provider.origin + prefix;
  bench.provider.next(`${prefix}/one/chat/completions`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(
      'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
    );
    setTimeout(() => res.destroy(), 50);
  });
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        ...strategyOf('fallback'),
        targets: [target(`${origin}/one`, 'gpt-ok'), target(`${origin}/two`, 'gpt-ok')],
      }),
    },
    body: JSON.stringify({ ...body, stream: true }),
  });
  t.is(answer.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  const { events, done } = readEvents(await answer.text());
  t.true(done);
  t.false(events.some(({ id }) => id === '1'));
});

test('a breaker over several calls: open, seen, and passed by', async (t) => {
  const prefix = bench.mark();
  const host = bench.provider.origin + prefix;
  const config: JsonObject = {
    ...strategyOf('fallback'),
    targets: [
      target(`${host}/one`, 'status-500', { cb_config: { failure_threshold: 2, cooldown_interval: 60_000 } }),
      target(`${host}/two`, 'gpt-ok'),
    ],
  };
  const headers = {
    'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(config),
  };
  const send = (path: string, json: object): Promise<Response> =>
    fetch(`${bench.gateway.origin}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(json) });
  for (let i = 0; i < 4; i++) t.is((await send('/chat/completions', body)).status, 200);
  t.is(bench.sentTo(`${prefix}/one`).length, 2);
  t.is(bench.sentTo(`${prefix}/two`).length, 4);
  const seen = (await (await send('/configs/explain', {})).json()) as JsonObject;
  t.like(seen.circuits, [{ path: 'config.targets[0]', state: 'open', failures: 2, outcomes: 2 }]);
});

test('sticky: callers stay with their target', async (t) => {
  const prefix = bench.mark();
  const host = bench.provider.origin + prefix;
  const config = {
    ...strategyOf('loadbalance', {
      sticky: { enabled: true, hash_fields: ['metadata.user', 'headers.x-session'], ttl: 60 },
    }),
    targets: ['a', 'b', 'c', 'd'].map((name) => target(`${host}/${name}`, 'gpt-ok')),
  };
  const taken = async (user: string): Promise<string | null> => {
    const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
        'content-type': 'application/json',
        'x-gateway-metadata': JSON.stringify({ user }),
        'x-gateway-config': JSON.stringify(config),
      },
      body: JSON.stringify(body),
    });
    return answer.headers.get('x-gateway-last-used-option-index');
  };
  const users = Array.from({ length: 12 }, (_, i) => `user-${i}`);
  const first = await Promise.all(users.map(taken));
  t.true(new Set(first).size > 1);
  for (let i = 0; i < 3; i++) t.deepEqual(await Promise.all(users.map(taken)), first);
});

test('a pattern that would run for ever holds for nothing, and holds nobody up', async (t) => {
  const host = bench.provider.origin + bench.mark();
  const config = {
    ...strategyOf('conditional', {
      conditions: [
        when({ 'metadata.text': { $regex: '^(a+)+$' } }, 'evil') as JsonObject,
        when({ 'metadata.text': { $regex: '^(a|b)+!$' } }, 'good') as JsonObject,
      ],
    }),
    targets: [target(host, 'never', { name: 'evil' }), target(host, 'gpt-ok', { name: 'good' })],
  };
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-metadata': JSON.stringify({ text: `${'a'.repeat(1500)}!` }),
      'x-gateway-config': JSON.stringify(config),
    },
    body: JSON.stringify(body),
  });
  clearInterval(watch);
  t.is(answer.status, 200);
  t.is(answer.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  t.true(longest < 1000, `the event loop stood still for ${longest} ms`);
});
