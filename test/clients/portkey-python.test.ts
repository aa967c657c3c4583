// The published PyPI SDK, unchanged, against a gateway that accepts its header prefix.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { startStage } from './portkey/clients.ts';
import { pythonWith } from './python-environment.ts';

const run = promisify(execFile);
const CONTENT = 'Hello, wörld! 👋';

type Json = Record<string, unknown>;
/** Class, status and message of what the SDK raised. */
type Refusal = readonly [type: string, status: number | null, message: string] | null;

interface Told {
  readonly calls: Readonly<Record<string, { status: unknown; answer: Json; error?: string }>>;
  readonly missed: readonly string[];
  readonly refusals: readonly Refusal[];
  readonly clouds: readonly Refusal[];
  readonly [more: string]: unknown;
}

test('the Python SDK: every method of every resource, and every option', async (t) => {
  t.timeout(180_000);
  const python = await pythonWith(t, {
    folder: 'python-portkey',
    packages: ['portkey-ai==2.3.4'],
    proof: 'import portkey_ai',
  });
  if (python === undefined) return;
  const stage = await startStage();
  t.teardown(() => stage.close());
  const given = {
    origin: stage.gateway.origin,
    provider: stage.provider.origin,
    workspace_id: stage.workspaceId,
    key: stage.workspaceKey,
    admin_key: ADMIN_KEY,
    workspace_key: WORKSPACE_KEY,
  };
  const { stdout } = await run(python, [resolve('test/clients/portkey_client.py'), JSON.stringify(given)], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const told = JSON.parse(stdout) as Told;

  t.deepEqual(told.missed, []);
  for (const [name, { status, error }] of Object.entries(told.calls))
    t.deepEqual({ status, error }, { status: 200, error: undefined }, name);
  const answer = (name: string): Json => told.calls[name]?.answer ?? {};
  for (const [name, members] of Object.entries(ANSWERS)) t.like(answer(name), members, name);

  t.like((told.exported as Json[])[0]!, { trace_id: 'from-python', cost: 0.35 });
  t.is((told.exported as Json[]).length, 1);
  // Whether it is cancelled or done by then is a race; what it must not be is something else.
  const cancelled = told.cancelled as Refusal;
  t.true(cancelled === null || cancelled[1] === 409);
  t.is(told.content, CONTENT);
  t.is(told.streamed, CONTENT);
  t.is(told.prompt_streamed, CONTENT);
  t.deepEqual(told.stored, [CONTENT, CONTENT]);
  t.like(told.head, { 'trace-id': 'python-trace', provider: 'openai', 'cache-status': 'DISABLED' });
  t.is(told.config, '1', 'a retry of the config that the option gave');
  t.deepEqual(told.cache, ['MISS', 'HIT', 'REFRESH', 'MISS', 'HIT']);
  t.like(told.timeout, { 0: 'APIStatusError', 1: 408 });
  t.like(told.azure, { 0: 'BadRequestError', 1: 400 });
  t.regex((told.azure as NonNullable<Refusal>)[2], /azure-resource-name/);
  t.deepEqual(
    told.clouds.map((cloud) => /x-gateway-[\w-]+region/.exec(cloud?.[2] ?? '')?.[0]),
    ['x-gateway-vertex-region', 'x-gateway-aws-region'],
  );
  t.deepEqual(
    told.refusals.map((refusal) => refusal?.slice(0, 2)),
    [
      ['NotFoundError', 404],
      ['AuthenticationError', 401],
      ['PermissionDeniedError', 403],
      ['BadRequestError', 400],
    ],
  );
  t.regex(told.refusals[2]?.[2] ?? '', /^Error code: 403 - the key lacks the scope configs\.list/);
  // Two of the SDK's models want one object where the product, and the npm SDK, have a list.
  t.regex(
    (told.list_with_rate_limits as NonNullable<Refusal>)[2],
    /rate_limits\s+Input should be a valid dict/,
  );
  t.regex(
    (told.access_with_usage_limits as NonNullable<Refusal>)[2],
    /usage_limits\s+Input should be a valid/,
  );

  const sentTo = (prefix: string) => stage.provider.seen.filter(({ url }) => url.startsWith(prefix));
  t.is(sentTo('/python-0/')[0]?.headers.authorization, 'Bearer sk-of-the-caller');
  t.is(sentTo('/integration/')[0]?.headers.authorization, 'Bearer sk-0987654321');
  const forwarded = stage.provider.seen.find(({ headers }) => headers['x-of-the-caller'] !== undefined);
  t.is(forwarded?.headers['x-of-the-caller'], 'kept');
  t.truthy(stage.provider.seen.find(({ url }) => url.includes('/deployments/my-deployment/')));
  const { data_points: points, summary } = answer('analytics.graphs.requests') as Record<string, Json>;
  t.true(Number(summary?.total) > 10 && Number(points?.length) >= 120);
  const { data } = await stage.admin.get('/logs?trace_id=python-trace');
  t.deepEqual(data[0].metadata, { _user: 'ann', teamName: 'blue' });
});

const budget = { type: 'cost', credit_limit: 5 };
/** Members of answers that the calls before them decide. */
const ANSWERS: Readonly<Record<string, Json>> = {
  'logs.create': { status: 'success' },
  'feedback.create': { status: 'success' },
  'feedback.bulk_create': { status: 'success' },
  'logs.exports.create': { total: 1, object: 'export' },
  'logs.exports.list': { object: 'list', total: 1 },
  'logs.exports.retrieve': { status: 'success', total_records: 1, object: 'export' },
  'analytics.graphs.cost': { object: 'analytics-graph', bucket_seconds: 60 },
  'analytics.graphs.feedbacks': { object: 'analytics-graph' },
  'analytics.summary.cache': { object: 'analytics-summary' },
  'analytics.groups.users': { object: 'list' },
  'analytics.groups.metadata': {
    object: 'list',
    total: 1,
    data: [{ object: 'analytics-group', metadata_value: 'blue', requests: 1 }],
  },
  'analytics.groups.group_by': { object: 'list' },
  'admin.workspaces.retrieve': {
    object: 'workspace',
    name: 'From Python',
    defaults: { metadata: { a: 'b' } },
  },
  'admin.workspaces.list': { object: 'list', total: 1 },
  'admin.users.invites.retrieve': { object: 'invite', email: 'ann@example.com', status: 'pending' },
  'admin.users.invites.list': { total: 1 },
  'admin.users.retrieve': { object: 'user', email: 'ann@example.com', role: 'member' },
  'admin.users.list': { total: 1 },
  'admin.workspaces.users.retrieve': { object: 'workspace-user', role: 'manager', status: 'active' },
  'admin.workspaces.users.list': { total: 1 },
  'api_keys.create': { object: 'api-key' },
  'api_keys.retrieve': {
    object: 'api-key',
    type: 'workspace-user',
    name: 'k2',
    scopes: ['completions.write', 'logs.view'],
    usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'weekly' },
  },
  'configs.create': { object: 'config' },
  'configs.retrieve': { object: 'config', name: 'cc', is_default: 0, status: 'active' },
  'configs.list': { object: 'list', total: 1 },
  'integrations.retrieve': { name: 'J', slug: 'python-integration', masked_key: 'sk*****321' },
  'integrations.list': { total: 1 },
  'integrations.workspaces.list': { total: 1 },
  'integrations.models.list': { total: 1, allow_all_models: true },
  'providers.create': { slug: 'python-provider' },
  'providers.list': { object: 'list', total: 1 },
  'providers.update': { slug: 'python-provider' },
  'providers.retrieve': {
    name: 'Q',
    note: 'n',
    usage_limits: budget,
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
  },
  'virtual_keys.create': { object: 'virtual-key' },
  'virtual_keys.retrieve': { name: 'W', note: 'm', ai_provider_name: 'azure-openai', usage_limits: budget },
  'guardrails.retrieve': { name: 'h', status: 'active' },
  'guardrails.list': { total: 1 },
  'get /policies/rate-limits': { object: 'policy_rate_limits', value: 6 },
  'get /policies/usage-limits': { object: 'policy_usage_limits', credit_limit: 20 },
  'get /secret-references': { object: 'secret-reference', description: 'changed' },
  'labels.retrieve': { name: 'blue', color_code: '#00f', description: 'd' },
  'labels.list': { total: 4 },
  'collections.retrieve': { name: 'folder 2', status: 'active' },
  'collections.list': { total: 1 },
  'prompts.partials.retrieve': { string: 'Hi', version: 2, status: 'active' },
  'prompts.partials.versions.list': { object: 'list', total: 2 },
  'prompts.partials.list': { object: 'list', total: 1 },
  'prompts.create': { object: 'prompt' },
  'prompts.versions.retrieve': { prompt_version: 2 },
  'prompts.versions.list': { object: 'list', total: 2 },
  'prompts.retrieve': { prompt_version: 2, template_metadata: { kind: 'test' } },
  'prompts.list': { object: 'list', total: 1 },
  'prompts.render': {
    success: true,
    data: { model: 'gpt-ok', max_tokens: 5, messages: [{ role: 'user', content: 'Hi Ann' }] },
  },
  'prompts.completions.create': { object: 'chat.completion', choices: [{ message: { content: CONTENT } }] },
};
