// Ordinary requests as large as they are taken: thousands of messages, tools, inputs and names, schemas and metadata, over
// each way in. What is refused is refused in time, too.
import { WebSocket } from 'ws';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { AS_ADMIN, byConfig, many, send } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, type ChaosLab, isTrue, type Scenario } from '../scenario.ts';

/** For debugging: only requests with this in their name; all of them are listed. */
const ONLY = process.env.CHAOS_REQUESTS_ONLY;

type Json = Readonly<Record<string, unknown>>;
interface Heavy {
  readonly name: string;
  /** Sends it; smaller by so many times for what is read once. @returns its status */
  send(gateway: GatewayProcess, smaller: number): Promise<number>;
}

const tool = (i: number): Json => ({
  type: 'function',
  function: { name: `f${i}`, parameters: { type: 'object', properties: { a: { type: 'string' } } } },
});
const schema = (count: number): Json => ({
  type: 'object',
  properties: Object.fromEntries(many(count, (i) => [`p${i}`, { type: 'string' }])),
});
const names = (count: number): Json => Object.fromEntries(many(count, (i) => [`n${i}`, 'v']));
const message = { role: 'user', content: 'hi' };
const text = (length: number, of = 'hello '): string => of.repeat(length / of.length);

/** Members of a request beside its model, by a name; `n` is 1 for the largest that is taken. */
const CHATS: Readonly<Record<string, (n: number) => Json>> = {
  'a text of 24 MB': (n) => ({ messages: [{ role: 'user', content: text(24e6 / n) }] }),
  'a text of 12 million Cyrillic letters': (n) => ({
    messages: [{ role: 'user', content: text(12e6 / n, 'ж') }],
  }),
  '20,000 messages': (n) => ({ messages: many(20_000 / n, () => message) }),
  '200,000 messages': (n) => ({ messages: many(200_000 / n, () => message) }),
  '4,500 tools': (n) => ({ messages: [message], tools: many(4500 / n, tool) }),
  '10,000 tools': (n) => ({ messages: [message], tools: many(10_000 / n, tool) }),
  'a schema of 11,000 properties': (n) => ({
    messages: [message],
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: schema(11_000 / n) } },
  }),
  '14,000 metadata': (n) => ({ messages: [message], metadata: names(14_000 / n) }),
  '14,000 biases': (n) => ({
    messages: [message],
    logit_bias: Object.fromEntries(many(14_000 / n, (i) => [i, 1])),
  }),
  '15,000 parts': (n) => ({
    messages: [{ role: 'user', content: many(15_000 / n, () => ({ type: 'text', text: 'hi' })) }],
  }),
  'own members of 350,000 numbers': (n) => ({ messages: [message], own: many(350_000 / n, () => 1) }),
};
const OTHERS: Readonly<Record<string, readonly [path: string, (n: number) => Json, admin?: true]>> = {
  'embeddings of 100,000 inputs': ['/embeddings', (n) => ({ input: many(100_000 / n, () => 'hello') })],
  'embeddings of 350,000 inputs': ['/embeddings', (n) => ({ input: many(350_000 / n, () => 'hello') })],
  'embeddings of 350,000 tokens': ['/embeddings', (n) => ({ input: many(350_000 / n, () => 17) })],
  'completions of 100,000 prompts': ['/completions', (n) => ({ prompt: many(100_000 / n, () => 'hello') })],
  'moderations of 100,000 texts': ['/moderations', (n) => ({ input: many(100_000 / n, () => 'hello') })],
  'rerank of 100,000 documents': [
    '/rerank',
    (n) => ({ query: 'x', documents: many(100_000 / n, () => 'hello') }),
  ],
  'responses of 17,000 items': [
    '/responses',
    (n) => ({ input: many(17_000 / n, () => ({ type: 'message', ...message })) }),
  ],
  'responses of a text of 24 MB': ['/responses', (n) => ({ input: text(24e6 / n) })],
  'messages of 20,000': ['/messages', (n) => ({ max_tokens: 9, messages: many(20_000 / n, () => message) })],
  'count_tokens of 20,000': [
    '/messages/count_tokens',
    (n) => ({ messages: many(20_000 / n, () => message) }),
  ],
  'passed through: 20,000 messages': [
    '/proxy/chat/completions',
    (n) => ({ messages: many(20_000 / n, () => message) }),
  ],
  'passed through: a text of 24 MB': [
    '/proxy/chat/completions',
    (n) => ({ messages: [{ role: 'user', content: text(24e6 / n) }] }),
  ],
  'a log of 350,000 numbers': [
    '/logs',
    (n) => ({ request: { url: 'u', body: { a: many(350_000 / n, () => 1) } }, response: { body: {} } }),
  ],
  'a log of 24 MB': [
    '/logs',
    (n) => ({ request: { url: 'u', body: { a: text(24e6 / n) } }, response: { body: {} } }),
  ],
  '4,000 logs': [
    '/logs',
    (n) => many(4000 / n, () => ({ request: { url: 'u', body: { a: 1 } }, response: { body: {} } })) as never,
  ],
  'a render of 14,000 variables': ['/prompts/none/render', (n) => ({ variables: names(14_000 / n) })],
  'feedback of 14,000 metadata': [
    '/feedback',
    (n) => ({ trace_id: 't', value: 1, metadata: names(14_000 / n) }),
  ],
  'a config of 10,000 targets': [
    '/configs',
    (n) => ({
      name: 'x',
      config: { strategy: { mode: 'fallback' }, targets: many(10_000 / n, () => ({ provider: 'openai' })) },
    }),
    true,
  ],
  'a config of 14,000 overrides': [
    '/configs',
    (n) => ({ name: 'x', config: { provider: 'openai', override_params: names(14_000 / n) } }),
    true,
  ],
  'a prompt of 14,000 parameters': [
    '/prompts',
    (n) => ({
      name: 'x',
      collection_id: 'c',
      string: '{{a}}'.repeat(40_000 / n),
      parameters: names(14_000 / n),
      virtual_key: 'v',
    }),
    true,
  ],
  'an integration of 14,000 configurations': [
    '/integrations',
    (n) => ({ name: 'x', ai_provider_id: 'openai', configurations: names(14_000 / n) }),
    true,
  ],
  'a declared state of 70,000 configs': [
    '/declared-state/plan',
    (n) => ({ files: [{ path: 'sluice.yaml', content: `configs:\n${text(1e6 / n, '  - name: x\n')}` }] }),
    true,
  ],
  'an MCP integration of 14,000 headers': [
    '/mcp-integrations',
    (n) => ({
      name: 'x',
      url: 'https://a.b',
      transport: 'http',
      auth_type: 'headers',
      configurations: { custom_headers: names(14_000 / n) },
    }),
    true,
  ],
  'a policy of 10,000 conditions': [
    '/policies/rate-limits',
    (n) => ({
      conditions: many(10_000 / n, () => ({ key: 'api_key', value: 'x' })),
      group_by: [{ key: 'api_key' }],
      type: 'requests',
      unit: 'rpm',
      value: 1,
    }),
    true,
  ],
};

function* requests(host: string, scim: string): Generator<Heavy> {
  const post = (
    name: string,
    path: string,
    body: (n: number) => unknown,
    headers: Record<string, string>,
  ): Heavy => ({
    name,
    send: async (gateway, n) => (await send(gateway, path, JSON.stringify(body(n)), headers)).status,
  });
  const guards = [
    { deny: true, checks: [{ id: 'contains', parameters: { words: ['zzz'], operator: 'none' } }] },
  ];
  const ways: Readonly<Record<string, Record<string, string>>> = {
    OpenAI: byConfig(host, {}),
    Anthropic: byConfig(host, { provider: 'anthropic' }),
    Google: byConfig(host, { provider: 'google' }),
    'OpenAI, with overrides and a retry': byConfig(host, {
      override_params: { seed: 1 },
      retry: { attempts: 1 },
    }),
    'OpenAI, guarded': byConfig(host, { input_guardrails: guards }),
    'OpenAI, cached': byConfig(host, { cache: { mode: 'simple' } }),
  };
  for (const [way, headers] of Object.entries(ways))
    for (const [what, body] of Object.entries(CHATS))
      yield post(`${what}, ${way}`, '/chat/completions', (n) => ({ model: 'gpt-ok', ...body(n) }), headers);
  for (const [what, [path, body, admin]] of Object.entries(OTHERS))
    yield post(
      what,
      path,
      (n) => (Array.isArray(body(n)) ? body(n) : { model: 'gpt-ok', ...body(n) }),
      admin ? AS_ADMIN : ways.OpenAI!,
    );
  for (const [what, body] of Object.entries(CHATS))
    yield post(
      `messages: ${what}, at OpenAI`,
      '/messages',
      (n) => ({ model: 'gpt-ok', max_tokens: 9, ...body(n) }),
      ways.OpenAI!,
    );
  yield* otherDoors(host, scim);
}

/** Where others than REST begin. */
function* otherDoors(host: string, scim: string): Generator<Heavy> {
  const at = (
    name: string,
    path: string,
    headers: Record<string, string>,
    body: (n: number) => unknown,
  ): Heavy => ({
    name,
    async send({ origin }, n) {
      const answer = await fetch(origin + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body(n)),
        signal: AbortSignal.timeout(60_000),
      });
      await answer.arrayBuffer();
      return answer.status;
    },
  });
  const scimHeaders = { authorization: `Bearer ${scim}`, 'content-type': 'application/scim+json' };
  const user = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'a@b.c' };
  yield at('SCIM: a user of 15,000 addresses', '/scim/v2/Users', scimHeaders, (n) => ({
    ...user,
    emails: many(15_000 / n, () => ({ value: 'a@b.c' })),
  }));
  yield at('SCIM: a group of 20,000 members', '/scim/v2/Groups', scimHeaders, (n) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    displayName: 'g',
    members: many(20_000 / n, (i) => ({ value: String(i) })),
  }));
  const mcp = {
    'x-gateway-api-key': WORKSPACE_KEY,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
  yield at('MCP: arguments of 14,000 names', '/mcp', mcp, (n) =>
    rpc('tools/call', { name: 'x', arguments: names(14_000 / n) }),
  );
  yield at('MCP: a text of 3 MB', '/mcp', mcp, (n) =>
    rpc('tools/call', { name: 'x', arguments: { a: text(3e6 / n) } }),
  );
  const json = { 'content-type': 'application/json' };
  yield at('a registration of 20,000 addresses', '/oauth/register', json, (n) => ({
    redirect_uris: many(20_000 / n, () => 'https://a.b/c'),
  }));
  yield at('a session of 14,000 names', '/v1/sessions', json, (n) => names(14_000 / n));
  for (const [what, body] of Object.entries(CHATS)) yield socket(`responses’ socket: ${what}`, host, body);
}

/** One request over the WebSocket of Responses. */
function socket(name: string, host: string, body: (n: number) => Json): Heavy {
  return {
    name,
    send: ({ origin }, n) =>
      new Promise((resolve) => {
        const ws = new WebSocket(`${origin.replace('http', 'ws')}/v1/responses`, {
          headers: { 'x-gateway-api-key': WORKSPACE_KEY, ...byConfig(host, {}) },
        });
        const end = (status: number) => {
          ws.terminate();
          resolve(status);
        };
        ws.on('error', () => end(400));
        ws.on('close', (code) => end(code));
        ws.on('message', (data) => {
          if (/"type":"(?:error|response\.(?:completed|failed))"/.test(String(data))) end(200);
        });
        ws.on('open', () => {
          const { messages: input, ...more } = body(n);
          ws.send(JSON.stringify({ type: 'response.create', model: 'gpt-ok', input, ...more }));
        });
      }),
  };
}

const scenario: Scenario = {
  name: 'heavy-requests',
  attack:
    'callers send requests as large as they are taken, and larger: texts of 24 MB, 200,000 messages, 10,000 tools, 350,000 inputs, 14,000 names, over REST, WebSocket, SCIM and MCP',
  bound: 'no turn over 50 ms; every request has an answer, and no 500',
  test: 'test/edge/json-weight.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await started(lab);
    const scim = await send(gateway, '/scim/tokens', { name: 'x' }, AS_ADMIN);
    const token = String((JSON.parse(scim.text) as Json).token ?? (JSON.parse(scim.text) as Json).key);
    const all = [...requests(provider.origin, token)].filter(({ name }) => name.includes(ONLY ?? ''));
    // What is compiled and read once is not counted.
    for (const one of all) await one.send(gateway, 100).catch(() => 0);
    await gateway.longestTurnMs();
    let longest = { ms: 0, name: '' };
    const failed: string[] = [];
    for (const { name, send } of all) {
      const status = await send(gateway, 1).catch(() => 0);
      const ms = await gateway.longestTurnMs();
      if (status === 0 || status === 500) failed.push(`${name} (${status})`);
      if (ms > 50 || ONLY !== undefined) console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
      if (ms > longest.ms) longest = { ms, name };
    }
    return [
      atMost(`longest turn of ${all.length} requests (${longest.name})`, longest.ms, 50, 'ms'),
      isTrue('every request has an answer, none is a 500', failed.length === 0, failed.join() || 'true'),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;

const started = (lab: ChaosLab): Promise<GatewayProcess> =>
  lab.startGateway({}, { nodeOptions: process.env.CHAOS_NODE?.split(' ') ?? [] });
