// An ordinary key sends whatever may be dear to read, to match or to write: bodies, texts, metadata, configs,
// guardrails, prompts, policies. No turn of the event loop may take long.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { AS_ADMIN, byConfig, many, saying, send } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { chanceOf, oneOf, VALUES } from '../nasty.ts';
import { type RpcAttack, rpcAttacks } from '../rpc-attacks.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

/** For debugging: lists every call above 30 ms as it ends, and sends only those with this in their name. */
const ONLY = process.env.CHAOS_FUZZ_ONLY;
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const RANDOM_CALLS = Number(process.env.CHAOS_CALLS ?? 30);
const LARGE = 24 * 1024 * 1024;

interface Attack {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

const deny = { deny: true };
/** Every check whose time grows with the text, several times. */
const GUARDRAILS = many(4, (i) => ({
  id: `g${i}`,
  ...deny,
  ...Object.fromEntries(
    [
      ['wordCount', { maxWords: 9_999_999 }],
      ['sentenceCount', { maxSentences: 9_999_999 }],
      ['characterCount', {}],
      ['contains', { words: ['zzz', `${'. '.repeat(40)}x`], operator: 'none' }],
      ['regexMatch', { rule: '(x+x+)+y', not: true }],
      ['regexReplace', { rule: '[a-z]{3}[0-9]' }],
      ['containsCode', { format: 'SQL', not: true }],
      ['alllowercase', {}],
      ['alluppercase', { not: true }],
      ['endsWith', { suffix: 'x' }],
      ['notNull', {}],
      ['jsonKeys', { keys: ['a'], operator: 'none' }],
      ['jsonSchema', { schema: { type: 'array', uniqueItems: true }, not: true }],
      ['validUrls', { onlyDNS: true }],
    ].map(([id, parameters]) => [`c-${id}`, { id, scope: 'all', ...(parameters as object) }]),
  ),
}));

const chat = (content: string, more = ''): string =>
  `{"model":"gpt-ok","messages":[{"role":"user","content":${content}}]${more}}`;

function* attacks(host: string): Generator<Attack> {
  const plain = byConfig(host, {});
  const guarded = byConfig(host, { input_guardrails: GUARDRAILS });
  const small = JSON.stringify(saying('hi'));
  for (const [name, value] of Object.entries(VALUES)) {
    for (const bytes of [LARGE, 1_000_000]) {
      const size = `${name}, ${bytes >> 10} KiB`;
      const json = value(bytes);
      yield { name: `content: ${size}`, path: '/chat/completions', body: chat(json), headers: plain };
      if (bytes < LARGE)
        yield {
          name: `an unknown member: ${size}`,
          path: '/chat/completions',
          body: chat('"hi"', `,"extra_member":${json}`),
          headers: plain,
        };
    }
    const json = value(1_900_000);
    yield { name: `guarded content: ${name}`, path: '/chat/completions', body: chat(json), headers: guarded };
    yield {
      name: `arguments of a tool: ${name}`,
      path: '/chat/completions',
      body: `{"model":"gpt-ok","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(json.slice(0, 1_000_000))}}}]}]}`,
      headers: guarded,
    };
    for (const bytes of [1_900_000, 640_000, 300_000, 130_000])
      yield {
        name: `messages: ${name}, ${bytes >> 10} KiB`,
        path: '/chat/completions',
        body: `{"model":"gpt-ok","messages":${value(bytes)}}`,
        headers: bytes > 500_000 ? guarded : plain,
      };
    yield {
      name: `cached: ${name}`,
      path: '/chat/completions',
      body: chat(json),
      headers: byConfig(host, { cache: { mode: 'simple' } }),
    };
    yield {
      name: `embeddings: ${name}`,
      path: '/embeddings',
      body: `{"model":"m","input":${json}}`,
      headers: guarded,
    };
    yield {
      name: `completions: ${name}`,
      path: '/completions',
      body: `{"model":"gpt-ok","prompt":${json}}`,
      headers: guarded,
    };
    yield {
      name: `override_params: ${name}`,
      path: '/chat/completions',
      body: chat(json),
      headers: byConfig(host, { override_params: { seed: 1 }, drop_params: ['user'] }),
    };
    yield {
      name: `a config: ${name}`,
      path: '/configs',
      body: `{"name":"x","config":${json}}`,
      headers: AS_ADMIN,
    };
    yield {
      name: `a guardrail: ${name}`,
      path: '/guardrails',
      body: `{"name":"x","checks":${json},"actions":{"deny":true}}`,
      headers: AS_ADMIN,
    };
    yield {
      name: `explain: ${name}`,
      path: '/configs/explain',
      body: `{"config":{"provider":"openai","override_params":{"a":${json}}}}`,
    };
    yield {
      name: `a policy: ${name}`,
      path: '/policies/rate-limits',
      body: `{"name":"x","conditions":${json},"group_by":[{"key":"api_key"}],"type":"requests","unit":"rpm","value":1}`,
      headers: AS_ADMIN,
    };
    yield {
      name: `a prompt: ${name}`,
      path: '/prompts',
      body: `{"name":"x","collection_id":"c","string":${json},"parameters":{},"virtual_key":"v"}`,
      headers: AS_ADMIN,
    };
    yield {
      name: `logs: ${name}`,
      path: '/logs',
      body: `{"request":{"url":"u","body":${json}},"response":{"body":{}}}`,
    };
    yield {
      name: `feedback: ${name}`,
      path: '/feedback',
      body: `{"trace_id":"t","value":1,"metadata":${json}}`,
    };
    const header = value(30_000).replaceAll(/[^\x20-\x7e]/g, 'x');
    yield {
      name: `metadata: ${name}`,
      path: '/chat/completions',
      body: small,
      headers: { ...plain, 'x-gateway-metadata': header },
    };
    yield {
      name: `an inline config: ${name}`,
      path: '/chat/completions',
      body: small,
      headers: { 'x-gateway-config': header },
    };
    yield {
      name: `an inline config's guardrails: ${name}`,
      path: '/chat/completions',
      body: small,
      headers: { 'x-gateway-config': `{"provider":"openai","api_key":"k","input_guardrails":${header}}` },
    };
  }
  const good = '{"role":"user","content":"hi"},'.repeat(22_000);
  for (const last of [
    '{"role":"wrong","content":"hi"}',
    '{"content":"hi"}',
    '{"role":"user","content":[{}]}',
  ])
    yield {
      name: `messages: many, the last one ${last}`,
      path: '/chat/completions',
      body: `{"model":"gpt-ok","messages":[${good}${last}]}`,
      headers: plain,
    };
  yield* configs(host);
}

function* configs(host: string): Generator<Attack> {
  const long = { model: 'm'.repeat(1000), messages: [{ role: 'user', content: 'hi' }] };
  const regexes = (count: number, source: string) =>
    // biome-ignore lint/suspicious/noThenProperty: the contract's name
    many(count, () => ({ query: { 'params.model': { $regex: source } }, then: 'a' }));
  for (const source of ['m*x', '[a-z]+x', '(m+)+x', '(m|m)*x', 'm?m?m?m?m?x']) {
    for (const count of [50, 700])
      yield {
        name: `${count} conditions ${source}`,
        path: '/chat/completions',
        body: JSON.stringify(long),
        headers: byConfig(host, {
          strategy: { mode: 'conditional', conditions: regexes(count, source), default: 'a' },
          targets: [{ name: 'a' }],
        }),
      };
  }
  for (const source of [
    '\\p{L}'.repeat(1900),
    `[${'\\p{L}'.repeat(1900)}]`,
    `[${'[\\p{L}--a]'.repeat(900)}]`,
  ])
    for (const flags of ['u', 'iu', 'v'])
      yield {
        name: `a pattern of Unicode classes /${flags}`,
        path: '/guardrails',
        body: JSON.stringify({
          name: 'x',
          checks: many(20, () => ({ id: 'regexReplace', parameters: { rule: `/${source}/${flags}` } })),
          actions: deny,
        }),
        headers: AS_ADMIN,
      };
  const pattern = '\\p{L}'.repeat(1900);
  yield {
    name: 'a schema of patterns',
    path: '/guardrails',
    body: JSON.stringify({
      name: 'x',
      checks: [
        {
          id: 'jsonSchema',
          parameters: { schema: { properties: Object.fromEntries(many(20, (i) => [`p${i}`, { pattern }])) } },
        },
      ],
      actions: deny,
    }),
    headers: AS_ADMIN,
  };
  const template = `${'{{a}}{{#b}}'.repeat(5000)}${'{{/b}}'.repeat(5000)}`;
  yield {
    name: 'a template',
    path: '/prompts/render-nothing/render',
    body: JSON.stringify({ variables: { a: template } }),
  };
  yield {
    name: 'a saved config with 7,500 conditions',
    path: '/configs',
    body: JSON.stringify({
      name: 'x',
      config: {
        strategy: { mode: 'conditional', conditions: regexes(2700, '(m+)+x') },
        targets: [{ provider: 'openai', name: 'a' }],
      },
    }),
    headers: AS_ADMIN,
  };
}

/** Calls put together by chance. */
function* random(host: string): Generator<Attack> {
  const chance = chanceOf(SEED);
  const names = Object.keys(VALUES);
  for (let i = 0; i < RANDOM_CALLS; i++) {
    const [a, b] = [oneOf(chance, names), oneOf(chance, names)];
    const size = Math.floor(10 ** (3 + chance() * 4));
    const path = oneOf(chance, ['/chat/completions', '/completions', '/embeddings', '/moderations']);
    const body = `{"model":"gpt-ok","messages":[{"role":"user","content":${VALUES[a]!(size)}}],"prompt":${VALUES[b]!(size)},"input":${VALUES[b]!(size)}}`;
    const config =
      chance() < 0.5 ? {} : { input_guardrails: GUARDRAILS.slice(0, 1 + Math.floor(chance() * 4)) };
    yield {
      name: `random ${SEED}/${i}: ${path} ${a}, ${b}, ${size} B`,
      path,
      body,
      headers: byConfig(host, config),
    };
  }
}

async function longest(gateway: GatewayProcess, all: Iterable<Attack | RpcAttack>, only: string | undefined) {
  const turns: { readonly name: string; readonly ms: number; readonly status: number }[] = [];
  for (const attack of all) {
    const { name } = attack;
    if (only !== undefined && !name.includes(only)) continue;
    const sent =
      'send' in attack
        ? attack.send(gateway)
        : send(gateway, attack.path, attack.body, attack.headers, attack.method).then(
            (answer) => answer.status,
          );
    const status = await sent.catch(() => 0);
    const ms = await gateway.longestTurnMs().catch(() => 10_000);
    if (process.env.CHAOS_FUZZ_LIST && ms > 30)
      console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
    turns.push({ name, status, ms });
  }
  return turns.sort((one, other) => other.ms - one.ms);
}

const scenario: Scenario = {
  name: 'loop-fuzz',
  attack:
    'an ordinary key sends bodies, messages of gRPC and Connect, texts, metadata, configs, guardrails, prompts and policies that are expensive to read',
  bound: 'no turn of the event loop over 50 ms of processor time; no 500',
  test: 'test/edge/json-weight.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway();
    const host = provider.origin;
    // What is compiled and read once is no part of an attack.
    for (let i = 0; i < 200; i++)
      await send(
        gateway,
        '/chat/completions',
        saying('hello '.repeat(20 * i)),
        byConfig(host, { input_guardrails: GUARDRAILS.slice(0, 1) }),
      );
    const wrong = `[${'{"role":1},'.repeat(2)}{}]`;
    const unruly = `[${'{"content":"hi"},'.repeat(2000)}{}]`;
    for (const messages of [wrong, unruly, unruly.slice(0, 35).replace(/,[^,]*$/, ']')])
      await send(
        gateway,
        '/chat/completions',
        `{"model":"gpt-ok","messages":${messages}}`,
        byConfig(host, {}),
      );
    for (const { send } of rpcAttacks(host, 20_000)) await send(gateway);
    await gateway.longestTurnMs();
    const turns = await longest(
      gateway,
      (function* () {
        yield* attacks(host);
        yield* rpcAttacks(host);
        yield* random(host);
      })(),
      ONLY,
    );
    const over = turns.filter(({ ms }) => ms > 50);
    for (const { name, ms, status } of over)
      console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
    const failed = turns.filter(({ status }) => status === 500 || status === 0);
    return [
      atMost(`longest turn in ${turns.length} calls (${turns[0]?.name})`, turns[0]?.ms ?? 0, 50, 'ms'),
      isTrue(
        'no call without an answer, no 500',
        failed.length === 0,
        failed.map(({ name, status }) => `${name} (${status})`).join('; ') || 'true',
      ),
      isTrue('the gateway lives', await gateway.healthy()),
    ];
  },
};
export default scenario;
