// Requests whose weight is in what the gateway does not know: own members of many values, texts with many secrets, words
// without end. Each over REST with what reads a request more closely (caches, guardrails, limits, explanations, the log's
// bodies), over gRPC, and over Connect.
import { type create, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { ChatService, CreateChatCompletionRequestSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { codec } from '../../../src/rest/codec.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { enveloped, grpcStatus } from '../../support/wire.ts';
import { AS_ADMIN, byConfig, many, send } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

/** For debugging: only calls with this in their name; all of them are listed. */
const ONLY = process.env.CHAOS_MEMBERS_ONLY;

const message = { role: 'user', content: 'hi' };
const says = (content: unknown, before: readonly unknown[] = []) => ({
  messages: [...before, { role: 'user', content }],
});
const nest = (depth: number, inner: string): string => '['.repeat(depth) + inner + ']'.repeat(depth);
const list = (count: number, item: string): string => `[${many(count, () => item).join()}]`;
/** A request with an own member of this JSON. */
const own = (json: string) => `{"model":"gpt-ok","messages":[${JSON.stringify(message)}],"own":${json}}`;
const chat = (members: object): string => JSON.stringify({ model: 'gpt-ok', ...members });

/** Bodies by name; `n` is 1 for the largest. */
const BODIES: Readonly<Record<string, (n: number) => string>> = {
  '350,000 numbers': (n) => own(list(350_000 / n, '1')),
  '200,000 numbers that are spelled otherwise': (n) => own(list(200_000 / n, '1.0')),
  '150,000 numbers between spaces': (n) => own(list(150_000 / n, ' -10e-1 ')),
  '45,000 long numbers': (n) => own(list(45_000 / n, '1.2345678901234567e-300')),
  '200,000 texts': (n) => own(list(200_000 / n, '"ab"')),
  '80,000 escaped texts': (n) => own(list(80_000 / n, '"\\u0041\\n"')),
  'a text of 150,000 escapes': (n) => own(`"${'\\u0041'.repeat(150_000 / n)}"`),
  '33,000 objects': (n) => own(list(33_000 / n, '{"a":1}')),
  '75,000 empty lists': (n) => own(list(75_000 / n, '[]')),
  '15,000 names': (n) => own(`{${many(15_000 / n, (i) => `"${(i * 7919) % 15_000}x":1`).join()}}`),
  '50,000 members of one name': (n) => own(`{${many(50_000 / n, () => '"a":1').join()}}`),
  '1,300 nests of 60 lists': (n) => own(list(1300 / n, nest(60, '1'))),
  '300,000 numbers at the depth of 60': (n) => own(nest(60, list(300_000 / n, '1').slice(1, -1))),
  '19,000 objects in objects': (n) => own(list(19_000 / n, '{"a":{"b":[1]}}')),
  '340,000 numbers in the place of tool servers': (n) =>
    own(`{"headers":1,"mcp_servers":${list(340_000 / n, '1')}}`),
  '33,000 tokens of tool servers': (n) =>
    own(`{"servers":[${many(33_000 / n, (i) => `{"token":"${(i + 1e7).toString(36)}abc"}`).join()}]}`),
  '15,000 headers of tool servers': (n) =>
    own(
      `{"servers":[{"headers":{${many(15_000 / n, (i) => `"h${i}":"${(i + 1e7).toString(36)}abc"`).join()}}}]}`,
    ),
  'a word of 24 KB': (n) => chat(says('a'.repeat(24_000 / n))),
  'words of 24 KB with signs': (n) => chat(says('@'.repeat(12_000 / n) + '1.'.repeat(6000 / n))),
  'a model of 9 MB': (n) => JSON.stringify({ model: 'claude'.repeat(1_500_000 / n), messages: [message] }),
  'a tier of 9 MB': (n) => chat({ ...says('hi'), service_tier: 'claude'.repeat(1_500_000 / n) }),
  '18,000 messages before the last': (n) =>
    chat(
      says(
        'hi',
        many(18_000 / n, () => ({ role: 'assistant', content: 'yes' })),
      ),
    ),
  '300,000 numbers before the last message': (n) =>
    chat({ messages: [{ ...message, role: 'system', own: many(300_000 / n, () => 1) }, message] }),
  'arguments of 300,000 numbers': (n) =>
    chat(says('hi', [withCall(list(300_000 / n, '1')), { role: 'tool', tool_call_id: 'a', content: 'x' }])),
  'arguments of 15,000 names': (n) =>
    chat(
      says('hi', [
        withCall(`{${many(15_000 / n, (i) => `"n${i}":1`).join()}}`),
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ]),
    ),
  '3,000 calls of tools': (n) =>
    chat(
      says('hi', [
        {
          role: 'assistant',
          tool_calls: many(3000 / n, (i) => ({
            id: `c${i}`,
            type: 'function',
            function: { name: 'f', arguments: '{"a":"\\n"}' },
          })),
        },
        ...many(3000 / n, (i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'x' })),
      ]),
    ),
};

function withCall(args: string): object {
  return {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }],
  };
}

interface Way {
  /** @returns the HTTP status, or 500 for the statuses of gRPC that say a fault of the gateway */
  send(gateway: GatewayProcess, body: string): Promise<number>;
}

function waysTo(host: string): Readonly<Record<string, Way>> {
  const guards = [
    {
      deny: true,
      checks: [{ id: 'contains', parameters: { words: ['zzz'], operator: 'none' } }, { id: 'notNull' }],
    },
  ];
  const post = (config: object, headers: Record<string, string> = {}, path = '/chat/completions'): Way => ({
    async send(gateway, body) {
      const answer = await send(gateway, path, body, { ...byConfig(host, config as never), ...headers });
      return answer.status;
    },
  });
  const streamed = ({ send }: Way): Way => ({
    send: (gateway, body) => send(gateway, body.replace('{', '{"stream":true,')),
  });
  const withMost = ({ send }: Way): Way => ({
    send: (gateway, body) => send(gateway, body.replace('{', '{"max_tokens":9,')),
  });
  const simple = { cache: { mode: 'simple' } };
  const embeddings = { provider: 'openai', api_key: 'k', custom_host: host, override_params: { model: 'm' } };
  return {
    plain: post({}),
    cached: post(simple),
    'cached, streamed': streamed(post(simple)),
    'cached by meaning': post({ cache: { mode: 'semantic', embeddings } }),
    'cached by meaning, refreshed': post(
      { cache: { mode: 'semantic', embeddings } },
      { 'x-gateway-cache-force-refresh': 'true' },
    ),
    guarded: post({ input_guardrails: guards, output_guardrails: guards }),
    'with overrides': post({ override_params: { seed: 1 } }),
    explained: post({ ...simple, retry: { attempts: 1 } }, { 'x-gateway-explain': 'true' }),
    'with metadata': post(
      {},
      { 'x-gateway-metadata': JSON.stringify(Object.fromEntries(many(60, (i) => [`k${i}`, `v${i}`]))) },
    ),
    'at Anthropic': post({ provider: 'anthropic' }),
    'at Google': post({ provider: 'google' }),
    'at Bedrock': post({
      provider: 'bedrock',
      aws_region: 'us-east-1',
      aws_access_key_id: 'a',
      aws_secret_access_key: 'b',
    }),
    'as a message': withMost(post({}, {}, '/messages')),
    'by affinity': post({
      strategy: { mode: 'loadbalance', affinity: { enabled: true } },
      targets: [{ weight: 1 }, { weight: 1 }],
    }),
    'passed through at an address of 40 KB': post({}, {}, `/proxy/chat/completions?${'?'.repeat(40_000)}`),
    'passed through': post({}, {}, '/proxy/chat/completions'),
    gRPC: { send: (gateway, body) => grpc(gateway, body, byConfig(host, {})) },
    'gRPC, cached': { send: (gateway, body) => grpc(gateway, body, byConfig(host, simple)) },
    Connect: { send: (gateway, body) => connect(gateway, binaryOf(body), byConfig(host, simple), 'proto') },
    'Connect in JSON': {
      send: (gateway, body) => {
        const { own: extra, ...rest } = JSON.parse(body) as JsonObject;
        const json = JSON.stringify(extra === undefined ? rest : { ...rest, extra: { own: extra } });
        return connect(gateway, Buffer.from(json), byConfig(host, simple), 'json');
      },
    },
  };
}

const PATH = `/${ChatService.typeName}/${ChatService.method.createChatCompletion.name}`;

function binaryOf(body: string): Uint8Array {
  const schema = CreateChatCompletionRequestSchema;
  return toBinary(
    schema,
    codec.decodeRequest(schema, JSON.parse(body)) as ReturnType<typeof create<typeof schema>>,
  );
}

async function grpc(
  { origin }: GatewayProcess,
  body: string,
  headers: Record<string, string>,
): Promise<number> {
  const { status } = await grpcStatus(origin, PATH, enveloped(binaryOf(body)), {
    'x-gateway-api-key': WORKSPACE_KEY,
    ...headers,
  });
  return ['2', '13', '15'].includes(status) ? 500 : 200;
}

async function connect(
  { origin }: GatewayProcess,
  body: Uint8Array,
  headers: Record<string, string>,
  type: string,
): Promise<number> {
  const answer = await fetch(origin + PATH, {
    method: 'POST',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': `application/${type}`, ...headers },
    body: new Uint8Array(body),
    signal: AbortSignal.timeout(60_000),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const scenario: Scenario = {
  name: 'heavy-members',
  attack:
    'callers send own members of 350,000 numbers, 200,000 texts or 15,000 names, 33,000 secrets and words of 24 KB through caches, guardrails, limits and explanations, over REST, gRPC and Connect',
  bound:
    'no turn over 50 ms, the writing of the log’s bodies included; every request has an answer, and no 500',
  test: 'test/inference/cache/key.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway({}, { nodeOptions: process.env.CHAOS_NODE?.split(' ') ?? [] });
    await send(
      gateway,
      '/policies/rate-limits',
      {
        conditions: [{ key: 'metadata.k1', value: '*' }],
        group_by: [{ key: 'metadata.k2' }, { key: 'api_key' }],
        type: 'tokens',
        unit: 'rpd',
        value: 1_000_000_000,
      },
      AS_ADMIN,
    );
    const all = Object.entries(waysTo(provider.origin)).flatMap(([way, { send }]) =>
      Object.entries(BODIES).map(([what, body]) => ({ name: `${what}, ${way}`, send, body })),
    );
    const wanted = all.filter(({ name }) => name.includes(ONLY ?? ''));
    // What is compiled and read once is not counted.
    for (const { send, body } of wanted) await send(gateway, body(100)).catch(() => 0);
    for (const { send, body } of wanted.slice(0, 40)) await send(gateway, body(4)).catch(() => 0);
    await gateway.longestTurnMs();
    let longest = { ms: 0, name: '' };
    const failed: string[] = [];
    const statuses = new Map<number, number>();
    for (const { name, send, body } of wanted) {
      const status = await send(gateway, body(1)).catch(() => 0);
      // Bodies are written after the answer.
      await new Promise((resolve) => setTimeout(resolve, 60));
      const ms = await gateway.longestTurnMs();
      provider.seen.length = 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 0 || status === 500) failed.push(`${name} (${status})`);
      if (ms > 50 || ONLY !== undefined) console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
      if (ms > longest.ms) longest = { ms, name };
    }
    const told = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
    return [
      atMost(`longest turn of ${wanted.length} requests (${longest.name})`, longest.ms, 50, 'ms'),
      isTrue('every request has an answer, none is a 500', failed.length === 0, failed.join() || told),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;
