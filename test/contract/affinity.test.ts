// Turns of one conversation stay at the target whose provider has their prompt cached.
import test, { type ExecutionContext } from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, exchange, type JsonObject, PROTOCOLS, type Protocol, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createChatCompletion } = ChatService.method;
const LONG = 'You answer with care and cite the handbook. '.repeat(120);
const TARGETS = [0, 1, 2] as const;

function configOf(affinity: JsonObject, more: JsonObject = {}) {
  return (host: string): JsonObject => ({
    strategy: { mode: 'loadbalance', affinity: { enabled: true, ...affinity }, ...more },
    targets: TARGETS.map((i) => ({ provider: 'openai', api_key: 'k', custom_host: `${host}/t${i}` })),
  });
}

interface Turn {
  readonly prefix: string;
  readonly messages: JsonObject[];
  readonly affinity?: JsonObject;
  readonly protocol?: Protocol;
  readonly body?: JsonObject;
  readonly headers?: Record<string, string>;
}

/** Makes one turn; which target answered it, and the steps of its explanation. */
async function turn(
  t: ExecutionContext,
  { prefix, messages, affinity = {}, protocol = 'rest', body, headers }: Turn,
) {
  const before = bench.sentTo(prefix).length;
  const { error, json } = await exchange(
    bench,
    {
      method: createChatCompletion,
      body: { model: 'gpt-ok', messages, ...body },
      headers: { 'x-gateway-explain': 'true', ...headers },
      config: configOf(affinity),
    },
    protocol,
    prefix,
  );
  t.is(error, undefined, JSON.stringify(error));
  const urls = bench
    .sentTo(prefix)
    .slice(before)
    .map(({ url }) => url);
  const explained = (json.gateway_explain ??
    (json.extra as JsonObject | undefined)?.gateway_explain) as JsonObject;
  return {
    target: Number(/\/t(\d)\//.exec(urls.at(-1)!)![1]),
    calls: urls.length,
    steps: explained.steps as JsonObject[],
  };
}

const opening = (name: string): JsonObject[] => [
  { role: 'system', content: LONG },
  { role: 'user', content: `I am ${name}` },
];
const next = (messages: JsonObject[], i: number): JsonObject[] => [
  ...messages,
  { role: 'assistant', content: `answer ${i}` },
  { role: 'user', content: `question ${i}` },
];

for (const protocol of PROTOCOLS) {
  test(`20 conversations of 8 turns over 3 targets: every later turn is at its warm target [${protocol}]`, async (t) => {
    const prefix = bench.mark();
    const talks = Array.from({ length: 20 }, (_, i) => ({ messages: opening(`caller ${i}`), at: -1 }));
    let warm = 0;
    for (let i = 0; i < 8; i++) {
      for (const talk of talks) {
        const { target } = await turn(t, { prefix, messages: talk.messages, protocol });
        if (i === 0) talk.at = target;
        else if (talk.at === target) warm++;
        talk.messages = next(talk.messages, i);
      }
    }
    t.is(warm, 140);
    t.true(new Set(talks.map(({ at }) => at)).size > 1, 'conversations are spread');
  });
}

test('breakpoints that move do not part a conversation', async (t) => {
  const prefix = bench.mark();
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const said = (text: string, marked: boolean): JsonObject => ({
    role: 'user',
    content: [{ type: 'text', text, ...(marked ? mark : {}) }],
  });
  const system = (tail: string): JsonObject => ({
    role: 'system',
    content: [
      { type: 'text', text: LONG, ...mark },
      { type: 'text', text: `today is ${tail}` },
    ],
  });
  const first = await turn(t, { prefix, messages: [system('Monday'), said('hi', true)] });
  t.like(first.steps[0], { step: 'affinity', key: 'prompt', warm: null, ttl: 3600, min_tokens: 1024 });
  for (let i = 0; i < 6; i++) {
    const messages = [
      system('Tuesday'),
      said('hi', false),
      { role: 'assistant', content: 'a' },
      said(`more ${i}`, true),
    ];
    const { target, steps } = await turn(t, { prefix, messages });
    t.is(target, first.target);
    t.like(steps[0], { step: 'affinity', warm: `config.targets[${first.target}]` });
    t.like(steps[1], { step: 'choice', algorithm: 'affinity' });
  }
});

test('a conversation that names itself stays together, however short it is', async (t) => {
  const ways: readonly Partial<Turn>[] = [
    { body: { prompt_cache_key: 'talk-1' } },
    { affinity: { key: 'metadata.talk' }, headers: { 'x-gateway-metadata': '{"talk":"t1"}' } },
    { affinity: { key: 'headers.x-session' }, headers: { 'x-session': 's1' } },
    { affinity: { key: 'params.user' }, body: { user: 'u1' } },
  ];
  for (const given of ways) {
    const prefix = bench.mark();
    const seen = new Set<number>();
    for (let i = 0; i < 10; i++) {
      const messages = [{ role: 'user', content: `alone ${i}` }];
      const { target, steps } = await turn(t, { prefix, messages, ...given });
      seen.add(target);
      t.like(steps[0], { key: 'given' });
    }
    t.is(seen.size, 1, JSON.stringify(given));
  }
});

test('what is too short to be cached goes where the strategy sends it, and the bound may be set', async (t) => {
  const messages = [{ role: 'user', content: 'short' }];
  const prefix = bench.mark();
  const seen = new Set<number>();
  for (let i = 0; i < 60 && seen.size < 3; i++) {
    const { target, steps } = await turn(t, { prefix, messages });
    seen.add(target);
    t.like(steps[0], { step: 'affinity', key: 'none', warm: null });
  }
  t.is(seen.size, 3);
  const own = new Set<number>();
  for (let i = 0; i < 10; i++)
    own.add((await turn(t, { prefix, messages, affinity: { min_tokens: 0 } })).target);
  t.is(own.size, 1);
});

test('another target takes over when the warm one fails, and keeps the conversation', async (t) => {
  const prefix = bench.mark();
  let messages = opening('someone');
  const first = await turn(t, { prefix, messages });
  messages = next(messages, 0);
  bench.provider.next(`${prefix}/t${first.target}/chat/completions`, (_req, res) => {
    res.writeHead(529, { 'content-type': 'application/json' }).end('{"error":{"message":"overloaded"}}');
  });
  const second = await turn(t, { prefix, messages });
  t.is(second.calls, 2);
  t.not(second.target, first.target);
  t.true(second.steps.some(({ step }) => step === 'move_on'));
  for (let i = 1; i < 6; i++) {
    messages = next(messages, i);
    const later = await turn(t, { prefix, messages });
    t.is(later.target, second.target);
    t.is(later.calls, 1);
  }
});

for (const [path, talk] of [
  ['/proxy/messages', (turns: JsonObject[]) => ({ model: 'm', system: LONG, messages: turns })],
  ['/proxy/responses', (turns: JsonObject[]) => ({ model: 'm', instructions: LONG, input: turns })],
  ['/messages', (turns: JsonObject[]) => ({ model: 'm', max_tokens: 9, system: LONG, messages: turns })],
  ['/responses', (turns: JsonObject[]) => ({ model: 'm', instructions: LONG, input: turns })],
] as const) {
  test(`conversations of ${path} stay together, too`, async (t) => {
    const prefix = bench.mark();
    for (let c = 0; c < 4; c++) {
      const seen = new Set<string>();
      let turns: JsonObject[] = [{ role: 'user', content: `I am ${c}` }];
      for (let i = 0; i < 5; i++) {
        const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
          method: 'POST',
          headers: {
            'x-gateway-api-key': WORKSPACE_KEY,
            'content-type': 'application/json',
            'x-gateway-config': JSON.stringify(configOf({})(bench.provider.origin + prefix)),
          },
          body: JSON.stringify(talk(turns)),
        });
        await answer.text();
        seen.add(/\/t(\d)\//.exec(bench.sentTo(prefix).at(-1)!.url)![1]!);
        turns = next(turns, i);
      }
      t.is(seen.size, 1);
    }
  });
}

test('two workspaces with one prompt, and with one name of a conversation, share nothing', async (t) => {
  const admin = async (path: string, body: JsonObject): Promise<JsonObject> => {
    const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as JsonObject;
  };
  await admin('/admin/workspaces', { name: 'Apart', slug: 'apart' });
  const { key } = await admin('/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'apart',
    scopes: ['completions.write'],
  });
  const ways: readonly Partial<Turn>[] = [
    { messages: opening('both') },
    { messages: [{ role: 'user', content: 'short' }], body: { prompt_cache_key: 'both' } },
    {
      messages: [{ role: 'user', content: 'short' }],
      affinity: { key: 'metadata.talk' },
      headers: { 'x-gateway-metadata': '{"talk":"both"}' },
    },
  ];
  for (const { messages = [], headers, ...way } of ways) {
    const prefix = bench.mark();
    const ask = (own: Record<string, string>) =>
      turn(t, { prefix, messages, ...way, headers: { ...headers, ...own } });
    t.like((await ask({})).steps[0], { step: 'affinity', warm: null });
    const { target, steps } = await ask({});
    t.like(steps[0], { step: 'affinity', warm: `config.targets[${target}]` });
    const other = await ask({ 'x-gateway-api-key': String(key) });
    t.like(other.steps[0], { step: 'affinity', warm: null });
    const again = await ask({ 'x-gateway-api-key': String(key) });
    t.like(again.steps[0], { step: 'affinity', warm: `config.targets[${other.target}]` });
  }
});

test('a target stays warm for as long as the request keeps its prompt', async (t) => {
  const prefix = bench.mark();
  const marked = (mark: JsonObject): JsonObject[] => [
    {
      role: 'system',
      content: [{ type: 'text', text: LONG, cache_control: { type: 'ephemeral', ...mark } }],
    },
    { role: 'user', content: 'hi' },
  ];
  for (const [messages, body, affinity, ttl] of [
    [marked({}), {}, {}, 300],
    [marked({ ttl: '5m' }), {}, {}, 300],
    [marked({ ttl: '1h' }), {}, {}, 3600],
    [opening('x'), {}, {}, 300],
    [opening('x'), { prompt_cache_retention: 'in_memory' }, {}, 300],
    [opening('x'), { prompt_cache_retention: '24h' }, {}, 86_400],
    [marked({ ttl: '1h' }), {}, { ttl: 60 }, 60],
  ] as const) {
    const { steps } = await turn(t, { prefix, messages: [...messages], body, affinity });
    t.like(steps[0], { step: 'affinity', ttl });
  }
});

test('what the caller did wrong goes to no other target', async (t) => {
  const prefix = bench.mark();
  for (const status of [400, 401, 404]) {
    for (const i of TARGETS)
      bench.provider.next(`${prefix}/t${i}/chat/completions`, (_req, res) => {
        res.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
      });
    const before = bench.sentTo(prefix).length;
    const called = {
      method: createChatCompletion,
      body: { model: 'gpt-ok', messages: opening('x') },
      config: configOf({}),
    };
    const { status: answered } = await exchange(bench, called, 'rest', prefix);
    t.is(answered, status);
    t.is(bench.sentTo(prefix).length, before + 1);
  }
});

test('what cannot be is refused by name', async (t) => {
  const bad: readonly (readonly [JsonObject, JsonObject, string])[] = [
    [{ key: 'body.x' }, {}, 'strategy.affinity.key'],
    [{ ttl: 0 }, {}, 'strategy.affinity.ttl'],
    [{ min_tokens: -1 }, {}, 'strategy.affinity.min_tokens'],
    [{}, { sticky: { enabled: true, hash_fields: ['metadata.a'] } }, 'strategy.affinity'],
    [{}, { mode: 'fallback' }, 'strategy.affinity'],
  ];
  for (const [affinity, more, param] of bad) {
    const called = {
      method: createChatCompletion,
      body: { model: 'gpt-ok', messages: opening('x') },
      config: configOf(affinity, more),
    };
    const { status, error } = await exchange(bench, called, 'rest');
    t.is(status, 400);
    t.is(error?.kind === 'rest' ? (error.body.error as JsonObject).param : undefined, param);
  }
});
