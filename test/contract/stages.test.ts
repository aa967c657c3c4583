// What stands around the calls of a plan: the cache before them, guardrails before and behind them.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  bad,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'tell me a secret' }] };
const target = (host: string, more: JsonObject = {}): JsonObject => ({
  provider: 'openai',
  api_key: 'k1',
  custom_host: host,
  ...more,
});
const contains = (word: string, more: JsonObject = {}): JsonObject => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});
const both = (one: Case): Case[] => [
  one,
  { ...one, name: `${one.name}, streamed`, body: { ...body, stream: true } },
];
const denied = {
  status: 446,
  code: Code.FailedPrecondition,
  reason: 'guardrail_denied' as const,
};

const HOOKS = {
  input_guardrails: 'before_request_hooks',
  output_guardrails: 'after_request_hooks',
} as const;

const CASES: Case[] = [
  ...both({
    name: 'an input guardrail with deny: 446, and nobody is called',
    method,
    body,
    config: (host) => ({
      strategy: { mode: 'fallback' },
      retry: { attempts: 2, on_status_codes: [446] },
      input_guardrails: [contains('secret', { deny: true })],
      targets: [target(host), target(host)],
    }),
    refused: denied,
  }),
  ...(['input_guardrails', 'output_guardrails'] as const).flatMap((side) =>
    both({
      name: `a soft denial is a reply: ${side}`,
      method,
      body,
      config: (host) =>
        target(host, {
          [side]: [contains(side === 'input_guardrails' ? 'secret' : 'Hello', { soft_deny_200: true })],
        }),
      check: (t, { json, events, complete, sent }) => {
        t.is(sent.length, side === 'input_guardrails' ? 0 : 1);
        const last = events.length > 0 ? events.at(-1)! : json;
        if (events.length > 0) {
          t.true(complete);
          t.regex(textOf(events), /guardrail checks/);
        } else t.like(json.hook_results, { [HOOKS[side]]: [{ verdict: false, deny: true }] });
        t.is((last.choices as JsonObject[])[0]!.finish_reason, 'content_filter');
      },
    }),
  ),
  {
    name: 'an input guardrail that passes: its results stand in the answer',
    method,
    body,
    config: (host) => target(host, { input_guardrails: [contains('nothing', { deny: true })] }),
    check: (t, { json, sent }) => {
      t.is(sent.length, 1);
      const [hook] = (json.hook_results as JsonObject).before_request_hooks as JsonObject[];
      t.is(hook!.verdict, true);
      t.deepEqual((json.hook_results as JsonObject).after_request_hooks, []);
    },
  },
  {
    name: 'an explanation has the cache’s key and the guardrails’ verdicts',
    method,
    body,
    headers: { 'x-gateway-explain': 'true' },
    config: (host) => target(host, { cache: { mode: 'simple' }, input_guardrails: [contains('nothing')] }),
    check: (t, { json }) => {
      const explain = json.gateway_explain as JsonObject;
      t.like(explain.cache, { status: 'MISS' });
      t.regex(String((explain.cache as JsonObject).key), /^[0-9a-f]{64}$/);
      t.like(explain.guardrails, { input: [{ verdict: true, deny: false }] });
    },
  },
  {
    name: 'an output guardrail with deny: 446',
    method,
    body,
    config: (host) => target(host, { output_guardrails: [contains('Hello', { deny: true })] }),
    refused: { ...denied, upstream: true },
  },
  {
    name: 'an output guardrail with deny moves on',
    method,
    body,
    config: (host) => ({
      strategy: { mode: 'fallback' },
      targets: [
        target(host, { output_guardrails: [contains('Hello', { deny: true })] }),
        target(host, { override_params: { seed: 2 } }),
      ],
    }),
    check: (t, { headers, sent, json }) => {
      t.is(headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
      t.is(sent.length, 2);
      t.false('hook_results' in json);
    },
  },
  {
    name: 'a stream whose beginning is denied: 446',
    method,
    body: { ...body, stream: true },
    config: (host) => target(host, { output_guardrails: [contains('Hello', { deny: true })] }),
    refused: { ...denied, upstream: true },
  },
  {
    name: 'a stream that passes its guardrails, and tells so where it may',
    method,
    body: { ...body, stream: true },
    config: (host) =>
      target(host, {
        input_guardrails: [contains('nothing')],
        output_guardrails: [contains('nothing', { deny: true })],
        strict_open_ai_compliance: false,
      }),
    check: (t, { events, complete }) => {
      t.true(complete);
      t.is(textOf(events), 'Hello, wörld! 👋');
      t.true('hook_results' in events[0]!);
      const last = events.at(-1)!.hook_results as Record<string, JsonObject[]>;
      t.deepEqual([last.before_request_hooks?.length, last.after_request_hooks?.length], [1, 1]);
    },
  },
  {
    name: 'a stream with strict compliance holds nothing else',
    method,
    body: { ...body, stream: true },
    config: (host) => target(host, { output_guardrails: [contains('nothing', { deny: true })] }),
    check: (t, { events, complete }) => {
      t.true(complete);
      t.is(textOf(events), 'Hello, wörld! 👋');
      for (const event of events) t.false('hook_results' in event);
    },
  },
  ...both({
    name: 'a guardrail that writes',
    method,
    body,
    config: (host) =>
      target(host, { output_mutators: [{ 'default.regexReplace': { rule: 'w[^ ]+!', redactText: 'you' } }] }),
    check: (t, { json, events, complete }) => {
      if (events.length > 0) {
        t.true(complete);
        t.is(textOf(events), 'Hello, you 👋');
      } else t.is(((json.choices as JsonObject[])[0]!.message as JsonObject).content, 'Hello, you 👋');
    },
  }),
  {
    name: 'a guardrail that writes to the request',
    method,
    body,
    config: (host) =>
      target(host, { input_mutators: [{ 'default.regexReplace': { rule: 'secret', redactText: 'story' } }] }),
    check: (t, { sent }) =>
      t.deepEqual((JSON.parse(sent[0]!.body.toString()) as JsonObject).messages, [
        { role: 'user', content: 'tell me a story' },
      ]),
  },
  {
    name: 'a saved guardrail that is not there',
    method,
    body,
    config: (host) => target(host, { input_guardrails: ['pg-none'] }),
    refused: bad('config_invalid', 'input_guardrails[0]', 'no saved guardrail'),
  },
  {
    name: 'an unknown check',
    method,
    body,
    config: (host) => target(host, { input_guardrails: [{ 'default.nothing': {} }] }),
    refused: bad('config_invalid', 'input_guardrails[0].default.nothing'),
  },
];

runCases(test, () => bench, CASES);

test('446 over gRPC tells the results of its checks too', async (t) => {
  const { error } = await exchange(
    bench,
    {
      method,
      body,
      config: (host) => target(host, { input_guardrails: [contains('secret', { deny: true })] }),
    },
    'grpc',
  );
  if (error?.kind !== 'rpc') return t.fail('answered');
  t.like(error.details[0]?.members, { hook_results: { before_request_hooks: [{ verdict: false }] } });
});

test('checks that fail without deny: 246 with the answer', async (t) => {
  for (const side of ['input_guardrails', 'output_guardrails'] as const) {
    const host = bench.provider.origin + bench.mark();
    const word = side === 'input_guardrails' ? 'secret' : 'Hello';
    const answer = await rest({ ...target(host), [side]: [contains(word)] });
    t.is(answer.status, 246);
    const json = (await answer.json()) as JsonObject;
    t.is(json.id, 'chatcmpl-1');
    const results = json.hook_results as Record<string, JsonObject[]>;
    const [hook] = results[side === 'input_guardrails' ? 'before_request_hooks' : 'after_request_hooks']!;
    t.is(hook!.verdict, false);
  }
});

test('446 tells the results of its checks', async (t) => {
  const host = bench.provider.origin + bench.mark();
  const answer = await rest({ ...target(host), input_guardrails: [contains('secret', { deny: true })] });
  t.is(answer.status, 446);
  const json = (await answer.json()) as JsonObject;
  t.like(json.error, { type: 'hooks_failed' });
  t.like(json.hook_results, { before_request_hooks: [{ verdict: false, deny: true }] });
});

for (const protocol of PROTOCOLS) {
  test(`the cache: MISS, HIT, a refresh; streams and whole answers find each other [${protocol}]`, async (t) => {
    const prefix = bench.mark();
    const ask = async (more: JsonObject = {}, headers: Record<string, string> = {}) => {
      const outcome = await exchange(
        bench,
        {
          method,
          body: { ...body, ...more },
          headers: { ...headers },
          config: (host) => target(host, { cache: { mode: 'simple', max_age: 60 } }),
        },
        protocol,
        prefix,
      );
      return { ...outcome, cache: outcome.headers.get('x-gateway-cache-status') };
    };
    const first = await ask();
    t.is(first.cache, 'MISS');
    const second = await ask();
    t.is(second.cache, 'HIT');
    t.deepEqual(second.json, first.json);
    t.is(second.headers.get('x-gateway-last-used-option-index'), 'config');
    const streamed = await ask({ stream: true });
    t.is(streamed.cache, 'HIT');
    t.true(streamed.complete);
    t.is(bench.sentTo(prefix).length, 1);
    t.is((await ask({ temperature: 1 })).cache, 'MISS');
    t.is((await ask({}, { 'x-gateway-metadata': '{"user":"b"}' })).cache, 'MISS');
    t.is((await ask({}, { 'x-gateway-cache-force-refresh': 'true' })).cache, 'REFRESH');
    t.is(bench.sentTo(prefix).length, 4);
    t.is((await ask({ model: 'status-500' })).cache, 'MISS');
    t.is((await ask({ model: 'status-500' })).cache, 'MISS', 'errors are not kept');
  });
}

test('200 callers at once make one call', async (t) => {
  const prefix = bench.mark();
  const config = target(bench.provider.origin + prefix, {
    cache: { mode: 'simple' },
    override_params: { model: 'slow-200' },
  });
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => rest(config).then((answer) => answer.json())),
  );
  t.is(bench.sentTo(prefix).length, 1);
  t.deepEqual(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
});

test('a cached answer has passed the guardrails of its request again, and those of its answer once', async (t) => {
  const prefix = bench.mark();
  const config = {
    ...target(bench.provider.origin + prefix, { cache: { mode: 'simple' } }),
    input_guardrails: [contains('nothing')],
    output_guardrails: [contains('nothing')],
  };
  const [first, second] = [await rest(config), await rest(config)];
  t.is(second.headers.get('x-gateway-cache-status'), 'HIT');
  const results = async (answer: Response) =>
    ((await answer.json()) as JsonObject).hook_results as Record<string, JsonObject[]>;
  const [before, after] = [await results(first), await results(second)];
  t.deepEqual([before.before_request_hooks?.length, before.after_request_hooks?.length], [1, 1]);
  t.deepEqual([after.before_request_hooks?.length, after.after_request_hooks?.length], [1, 0]);
});

test('an answer that a guardrail found fault with is not kept', async (t) => {
  const prefix = bench.mark();
  const config = {
    ...target(bench.provider.origin + prefix, { cache: { mode: 'simple' } }),
    output_guardrails: [contains('Hello')],
  };
  for (let i = 0; i < 2; i++) {
    const answer = await rest(config);
    t.is(answer.status, 246);
    t.is(answer.headers.get('x-gateway-cache-status'), 'MISS');
  }
  t.is(bench.sentTo(prefix).length, 2);
});

test('the semantic cache: vectors by an embeddings target, whose failure fails nothing', async (t) => {
  const prefix = bench.mark();
  const origin = bench.provider.origin + prefix;
  const ask = async (content: string, embeddings: JsonObject) => {
    const answer = await rest(target(origin, { cache: { mode: 'semantic', embeddings } }), {
      model: 'gpt-ok',
      messages: [{ role: 'user', content }],
    });
    t.is(answer.status, 200);
    return answer.headers.get('x-gateway-cache-status');
  };
  const good = { ...target(origin), override_params: { model: 'embed' } };
  // The fake provider gives every text the same vector.
  t.is(await ask('one', good), 'SEMANTIC MISS');
  t.is(await ask('another', good), 'SEMANTIC HIT');
  const sent = bench.sentTo(prefix).map(({ url }) => url.split('/').at(-1));
  t.deepEqual(sent, ['embeddings', 'completions', 'embeddings']);
  t.is(await ask('third', { ...target('http://127.0.0.1:59'), override_params: { model: 'embed' } }), 'MISS');
});

test('embeddings are kept too', async (t) => {
  const prefix = bench.mark();
  const ask = () =>
    exchange(
      bench,
      {
        method: EmbeddingsService.method.createEmbeddings,
        body: { model: 'e', input: 'x' },
        config: (host) => target(host, { cache: { mode: 'simple' } }),
      },
      'rest',
      prefix,
    );
  await ask();
  t.is((await ask()).headers.get('x-gateway-cache-status'), 'HIT');
});

function textOf(events: readonly JsonObject[]): string {
  return events
    .map(({ choices }) => ((choices as JsonObject[])[0]?.delta as JsonObject | undefined)?.content ?? '')
    .join('');
}

function rest(
  config: JsonObject,
  request: JsonObject = body,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
      ...headers,
    },
    body: JSON.stringify(request),
  });
}

test('the key of the cache: credential, provider, host, forwarded headers and namespace count', async (t) => {
  const origin = bench.provider.origin + bench.mark();
  const asked = async (more: JsonObject, headers: Record<string, string> = {}, host = origin) => {
    const answer = await rest({ ...target(host), cache: { mode: 'simple' }, ...more }, body, headers);
    return answer.headers.get('x-gateway-cache-status');
  };
  t.is(await asked({}), 'MISS');
  t.is(await asked({ api_key: 'k2' }), 'MISS');
  t.is(await asked({ provider: 'groq' }), 'MISS');
  t.is(await asked({}, {}, `${origin}/other`), 'MISS');
  t.is(await asked({ forward_headers: ['x-team'] }, { 'x-team': 'a' }), 'MISS');
  t.is(await asked({ override_params: { top_p: 0.5 } }), 'MISS');
  t.is(await asked({}, { 'x-gateway-cache-namespace': 'n' }), 'MISS');
  t.is(await asked({}, { 'x-gateway-cache-namespace': 'n', 'x-gateway-metadata': '{"a":"b"}' }), 'HIT');
  t.is(await asked({}), 'HIT');
  t.is(await asked({}, { 'x-gateway-debug': 'false' }), 'DISABLED');
});
