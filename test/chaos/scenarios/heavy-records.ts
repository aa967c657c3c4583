// Records of the control plane as large as they are taken, many of them: an administrator of one workspace stores, lists,
// changes, declares and exports them over each protocol, while the others' calls wait for the same event loop.
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescMethodUnary, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { DeclaredStateService } from '../../../gen/gateway/admin/v2/declared_state_pb.ts';
import { GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { LogsService } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { PromptPartialsService } from '../../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { ADMIN_KEY } from '../../support/gateway.ts';
import { enveloped, grpcStatus } from '../../support/wire.ts';
import { AS_ADMIN, byConfig, many, saying, send } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

/** For debugging: only calls with this in their name; all of them are listed. */
const ONLY = process.env.CHAOS_RECORDS_ONLY;
const VERSIONS = 30;
/** Partials are short enough for more of them. */
const VERSIONS_OF_PARTIALS = 120;
const RECORDS = 1200;

type Send = (gateway: GatewayProcess) => Promise<number>;
type Heavy = readonly [name: string, send: Send];

const names = (count: number, value: string): JsonObject =>
  Object.fromEntries(many(count, (i) => [`n${i}`, value]));
const text = (length: number, of = 'hello '): string => of.repeat(length / of.length);

/** Configs close to what is taken: by their members, by their characters, and by their targets. */
const CONFIGS: Readonly<Record<string, (value: string) => JsonObject>> = {
  '9,000 members': (value) => ({ provider: 'openai', override_params: names(9000, value) }),
  '250,000 characters': (value) => ({
    provider: 'openai',
    override_params: { system: text(250_000, `${value} hello `) },
  }),
  '100 targets': (value) => ({
    strategy: { mode: 'fallback' },
    targets: many(100, () => ({ provider: 'openai', override_params: names(80, value) })),
  }),
};

const prompt = (value: string): JsonObject => ({
  string: text(50_000, '{{a}} ') + text(200_000, `${value} hello `),
  parameters: { model: 'gpt-ok', metadata: names(4000, value) },
  functions: many(300, (i) => ({ name: `f${i}`, parameters: { type: 'object', description: value } })),
});
const partial = (value: string): JsonObject => ({ string: text(250_000, `${value} hello `) });
const guardrail = (value: string): JsonObject => ({
  checks: many(20, () => ({
    id: 'default.contains',
    parameters: { words: many(400, (i) => `${value}${i}`), operator: 'none' },
  })),
  actions: { deny: true },
});
const declared = (value: string): JsonObject => ({
  source: 'sluice.yaml',
  files: [
    {
      name: 'sluice.yaml',
      document: {
        version: 1,
        configs: many(RECORDS, (i) => ({
          slug: `c${i}`,
          name: `${value}${i}`,
          config: { provider: 'openai', override_params: { user: value } },
        })),
      },
    },
  ],
});

const rest =
  (method: string, path: string, body: JsonObject | '' = ''): Send =>
  async ({ origin }) => {
    const answer = await fetch(`${origin}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...AS_ADMIN },
      ...(body === '' ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    await answer.arrayBuffer();
    return answer.status;
  };

const pathOf = (method: DescMethodUnary): string => `/${method.parent.typeName}/${method.name}`;
const binaryOf = (method: DescMethodUnary, message: JsonObject): Uint8Array =>
  toBinary(
    method.input,
    Object.keys(message).length === 0 ? create(method.input) : fromJson(method.input, message),
  );

const grpc =
  (method: DescMethodUnary, message: JsonObject): Send =>
  async ({ origin }) => {
    const body = enveloped(binaryOf(method, message));
    const { status } = await grpcStatus(origin, pathOf(method), body, AS_ADMIN);
    return ['2', '13', '15'].includes(status) ? 500 : status === '0' ? 200 : 400;
  };

const connect =
  (method: DescMethodUnary, message: JsonObject, type: 'json' | 'proto'): Send =>
  async ({ origin }) => {
    const answer = await fetch(origin + pathOf(method), {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': `application/${type}` },
      body: type === 'json' ? JSON.stringify(message) : new Uint8Array(binaryOf(method, message)),
      signal: AbortSignal.timeout(60_000),
    });
    await answer.arrayBuffer();
    return answer.status;
  };

/** The same over each protocol. */
function* everyWay(
  name: string,
  own: Send,
  method: DescMethodUnary,
  message: () => JsonObject,
): Generator<Heavy> {
  yield [`${name}, REST`, own];
  yield [`${name}, gRPC`, (gateway) => grpc(method, message())(gateway)];
  yield [`${name}, Connect`, (gateway) => connect(method, message(), 'proto')(gateway)];
  yield [`${name}, Connect in JSON`, (gateway) => connect(method, message(), 'json')(gateway)];
}

let changed = 0;
/** A value of its own for each change. */
const fresh = (): string => `v${changed++}`;

function* configCalls(ids: ReadonlyMap<string, string>): Generator<Heavy> {
  const { method } = ConfigsService;
  for (const [what, config] of Object.entries(CONFIGS)) {
    const slug = ids.get(what)!;
    const put: Send = (gateway) => rest('PUT', `/configs/${slug}`, { config: config(fresh()) })(gateway);
    yield* everyWay(`a change of a config of ${what}`, put, method.updateConfig, () => ({
      slug,
      config: { text: JSON.stringify(config(fresh())) },
    }));
    yield* everyWay(`a config of ${what}`, rest('GET', `/configs/${slug}`), method.getConfig, () => ({
      slug,
    }));
    yield* everyWay(
      `all versions of a config of ${what}`,
      rest('GET', `/configs/${slug}/versions?page_size=1000`),
      method.listConfigVersions,
      () => ({ slug, page_size: 1000 }),
    );
  }
  yield* everyWay('all configs', rest('GET', '/configs?page_size=1000'), method.listConfigs, () => ({
    page_size: 1000,
  }));
}

function* otherCalls(ids: ReadonlyMap<string, string>, host: string): Generator<Heavy> {
  const id = (of: string): string => ids.get(of)!;
  const { method: prompts } = PromptsService;
  const { method: partials } = PromptPartialsService;
  const { method: guardrails } = GuardrailsService;
  const { method: states } = DeclaredStateService;
  const kinds = [
    ['prompt', '/prompts', prompt, prompts.updatePrompt, prompts.listPromptVersions, 'prompt_id'],
    [
      'partial',
      '/prompts/partials',
      partial,
      partials.updatePromptPartial,
      partials.listPromptPartialVersions,
      'partial_id',
    ],
    [
      'guardrail',
      '/guardrails',
      guardrail,
      guardrails.updateGuardrail,
      guardrails.listGuardrailVersions,
      'guardrail_id',
    ],
  ] as const;
  for (const [what, path, body, update, versions, name] of kinds) {
    const put: Send = (gateway) => rest('PUT', `${path}/${id(what)}`, body(fresh()))(gateway);
    yield* everyWay(`a change of a ${what}`, put, update, () => ({ [name]: id(what), ...body(fresh()) }));
    const list = rest('GET', `${path}/${id(what)}/versions?page_size=1000`);
    yield* everyWay(`all versions of a ${what}`, list, versions, () => ({
      [name]: id(what),
      page_size: 1000,
    }));
  }
  const state = declared('x');
  yield* everyWay(
    `a plan of ${RECORDS} records`,
    rest('POST', '/declared-state/plan', state),
    states.planDeclaredState,
    () => state,
  );
  const apply: Send = (gateway) => rest('POST', '/declared-state/apply', declared(fresh()))(gateway);
  yield* everyWay(`${RECORDS} records applied`, apply, states.applyDeclaredState, () => declared(fresh()));
  yield* everyWay(
    'the exported state',
    rest('GET', '/declared-state'),
    states.exportDeclaredState,
    () => ({}),
  );
  const { listLogs } = LogsService.method;
  yield* everyWay('a list of logs', rest('GET', '/logs?page_size=100'), listLogs, () => ({ page_size: 100 }));
  const filters = { filters: {}, requested_data: ['id', 'request', 'response'] };
  yield ['ten calls of 1 MB, logged', (gateway) => logged(gateway, host, text(1e6))];
  const numbers = many(300_000, (i) => i);
  yield ['ten calls of 300,000 numbers', (gateway) => logged(gateway, host, numbers)];
  yield ['an export of logs of 1 MB', (gateway) => exported(gateway, filters)];
}

/** Ten calls at once, whose bodies are written after their answers. */
async function logged(gateway: GatewayProcess, host: string, own: unknown): Promise<number> {
  const body = JSON.stringify({ ...saying('hi'), own });
  const answers = await Promise.all(
    many(10, () => send(gateway, '/chat/completions', body, byConfig(host, {}))),
  );
  await sleep(500);
  return Math.max(...answers.map(({ status }) => status));
}

/** Exports the log and waits for its end. */
async function exported(gateway: GatewayProcess, what: JsonObject): Promise<number> {
  const made = await send(gateway, '/logs/exports', what, AS_ADMIN);
  const path = `/logs/exports/${(JSON.parse(made.text) as JsonObject).id}`;
  const started = await send(gateway, `${path}/start`, '', AS_ADMIN);
  for (let tries = 0; tries < 600; tries++) {
    const { status } = (await (
      await fetch(`${gateway.origin}/v1${path}`, { headers: AS_ADMIN })
    ).json()) as JsonObject;
    if (status === 'success') return started.status;
    if (status === 'failed') return 500;
    await sleep(100);
  }
  return 0;
}

/** Stores the records with all their versions. @returns their slugs and ids */
async function filled(gateway: GatewayProcess): Promise<ReadonlyMap<string, string>> {
  const made = async (path: string, body: JsonObject): Promise<string> => {
    const { status, text: told } = await send(gateway, path, body, AS_ADMIN);
    if (status !== 200) throw new Error(`${path}: ${status} ${told.slice(0, 500)}`);
    const { slug, id } = JSON.parse(told) as JsonObject;
    return String(path === '/configs' ? slug : id);
  };
  const ids = new Map<string, string>();
  const kinds = [
    ...Object.entries(CONFIGS).map(
      ([what, config]) => [what, '/configs', (value: string) => ({ config: config(value) })] as const,
    ),
    ['prompt', '/prompts', prompt],
    ['partial', '/prompts/partials', partial],
    ['guardrail', '/guardrails', guardrail],
  ] as const;
  for (const [what, path, body] of kinds) {
    const id = await made(path, { name: what, ...body('v') });
    ids.set(what, id);
    const versions = what === 'partial' ? VERSIONS_OF_PARTIALS : VERSIONS;
    for (let i = 1; i < versions; i++) {
      const status = await rest('PUT', `${path}/${id}`, body(fresh()))(gateway);
      if (status !== 200) throw new Error(`a version of a ${what}: ${status}`);
    }
  }
  return ids;
}

const scenario: Scenario = {
  name: 'heavy-records',
  attack:
    'an administrator of a workspace stores configs of 9,000 members, prompts, partials and guardrails as large as they are taken, 30 to 120 versions of each, changes and lists them, declares 1,200 records and exports logs of 1 MB, over REST, gRPC and Connect',
  bound: 'no turn over 50 ms; every call has an answer, and no 500',
  test: 'test/rpc/long-answers.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway({}, { nodeOptions: process.env.CHAOS_NODE?.split(' ') ?? [] });
    const ids = await filled(gateway);
    for (let i = 0; i < 40; i++)
      await send(gateway, '/chat/completions', saying(text(1e6)), byConfig(provider.origin, {}));
    const all = [...configCalls(ids), ...otherCalls(ids, provider.origin)].filter(([name]) =>
      name.includes(ONLY ?? ''),
    );
    // What is compiled and read once is not counted.
    for (const [, send] of all) await send(gateway).catch(() => 0);
    await gateway.longestTurnMs();
    let longest = { ms: 0, name: '' };
    const failed: string[] = [];
    for (const [name, send] of all) {
      const status = await send(gateway).catch(() => 0);
      // Replicas read what was written after the answer.
      await sleep(60);
      const ms = await gateway.longestTurnMs();
      if (status !== 200) failed.push(`${name} (${status})`);
      if (ms > 50 || ONLY !== undefined) console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
      if (ms > longest.ms) longest = { ms, name };
    }
    return [
      atMost(`longest turn of ${all.length} calls (${longest.name})`, longest.ms, 50, 'ms'),
      isTrue('every call is answered', failed.length === 0, failed.join() || 'true'),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;
