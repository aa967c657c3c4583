// The published npm SDK against the gateway: analytics, every method of it, under the SDK's own paths.
import test, { type ExecutionContext } from 'ava';
import { type Stage, startStage } from './portkey/clients.ts';
import { plain, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
test.before(async () => {
  range.time_of_generation_min = new Date(Date.now() - 60_000).toISOString();
  range.time_of_generation_max = new Date(Date.now() + 600_000).toISOString();
  stage = await startStage();
  watched = new Watched(stage.exchanges);
  for (const model of ['gpt-4o', 'gpt-4o', 'status-500']) {
    const client = stage.client({
      apiKey: stage.workspaceKey,
      provider: 'openai',
      customHost: stage.provider.origin,
      Authorization: 'Bearer sk',
      traceID: 'seen',
      metadata: { _user: 'ann', team: 'blue' },
    });
    await client.chat.completions
      .create({ model, messages: [{ role: 'user', content: 'hi' }] })
      .catch(() => undefined);
  }
  await stage.workspace.feedback.create({ traceID: 'seen', value: 8, weight: 0.5 });
});
test.after.always(() => stage?.close());

/** From a minute before this file's first call on: its group may have begun minutes earlier. */
const range = { time_of_generation_min: '', time_of_generation_max: '' };
const statusOf = (error: Error | undefined): unknown => (error as { status?: number } | undefined)?.status;

type Json = Record<string, unknown>;
type Graph = (query: typeof range) => PromiseLike<unknown>;

/** By the SDK's method: the summary, and members of a point. */
const GRAPHS: Readonly<Record<string, readonly [summary: Json, members: string]>> = {
  requests: [{ total: 3 }, 'timestamp total'],
  cost: [{ total: 0.01875, total_exact: '187500000' }, 'timestamp total avg'],
  latency: [{}, 'timestamp avg p50 p90 p99'],
  tokens: [{ total: 36, avg: 12 }, 'timestamp total avg'],
  users: [{ total: 1 }, 'timestamp total'],
  usersRequests: [{ total: 3, unique: 1, avg: 3 }, 'timestamp avg'],
  errors: [{ total: 1 }, 'timestamp total'],
  errors_rate: [{ rate: 100 / 3 }, 'timestamp rate'],
  errors_stack: [{ total: 1 }, 'timestamp stats'],
  errors_status_code: [{ total_errors: 1, unique_error_codes: 1 }, 'status_code count'],
  requests_rescued: [{ retry: 0, fallback: 0 }, 'timestamp retry fallback'],
  cache_hit_rate: [{ total: 0, rate: 0 }, 'timestamp simple_hits semantic_hits rate'],
  cache_latency: [{}, 'timestamp avg'],
  feedbacks: [{ total: 1 }, 'timestamp total'],
  feedbacks_score: [{ total: 1 }, 'score total'],
  feedbacks_weighted: [{ avg: 4 }, 'timestamp avg'],
  feedback_ai_models: [{}, 'ai_model total avg_weighted_feedback'],
};

test.serial('every graph', async (t) => {
  const { graphs } = stage.workspace.analytics;
  for (const [name, [summary, members]] of Object.entries(GRAPHS)) {
    const method = (graphs as unknown as Record<string, Graph>)[name] as Graph;
    const answer = plain(await watched.call(t, `graphs.${name}`, () => method.call(graphs, range)));
    t.is(answer.object, 'analytics-graph', name);
    t.like({ name, ...(answer.summary as Json) }, { name, ...summary });
    const points = answer.data_points as Json[];
    t.true(points.length > 0, name);
    for (const member of members.split(' '))
      for (const point of points) t.true(member in point, `${name}.${member}`);
  }
  t.deepEqual(watched.missed('graphs', graphs), []);
  const narrowed = await stage.admin.analytics.graphs.requests({
    ...range,
    total_units_min: 1,
    total_units_max: 100,
    cost_min: 0,
    cost_max: 5,
    status_code: '200,500',
    prompt_token_min: 0,
    prompt_token_max: 50,
    completion_token_min: 0,
    completion_token_max: 50,
    weighted_feedback_min: -10,
    weighted_feedback_max: 10,
    ai_org_model: 'openai__gpt-4o',
    workspace_slug: 'default',
    metadata: '{"_user":"ann"}',
    cache_status: 'DISABLED',
    order_by: 'timestamp',
    order_by_type: 'desc',
    page_size: 10,
  });
  t.like(narrowed, { summary: { total: 2 } });
});

test.serial('groups', async (t) => {
  const { groups } = stage.workspace.analytics;
  const list = async (name: string, call: () => PromiseLike<unknown>): Promise<Json> => {
    const { object, total, data } = plain(await watched.call(t, `groups.${name}`, call));
    t.deepEqual([object, total], ['list', (data as Json[]).length], name);
    return (data as Json[])[0] ?? {};
  };
  t.deepEqual(await list('users', () => groups.users({ ...range, page_size: 5, current_page: 0 })), {
    object: 'analytics-group',
    user: 'ann',
    requests: '3',
    cost: '0.01875',
  });
  const { requests, ai_model } = await list('aiModels', () => groups.aiModels(range));
  t.deepEqual([ai_model, requests], ['gpt-4o', 2]);
  t.like(await list('workspaces', () => groups.workspaces(range)), {
    workspace: stage.workspaceId,
    workspace_slug: 'default',
    requests: 3,
  });
  t.like(await list('metadata', () => groups.metadata('team', range)), {
    object: 'analytics-group',
    metadata_value: 'blue',
    requests: 3,
    cost: 0.01875,
    avg_tokens: 12,
    avg_weighted_feedback: 4,
    requests_with_feedback: 1,
  });
  const names = [
    'ai_service',
    'model',
    'status_code',
    'api_key',
    'config',
    'workspace',
    'provider',
    'prompt',
  ];
  for (const name of names as Parameters<typeof groups.groupedData>[0][]) {
    const columns = 'requests,cost,total_tokens,avg_latency,p99_latency,success_rate,last_seen';
    const query = { ...range, columns, include_total: true, order_by: 'cost', order_by_type: 'desc' };
    const group = await list('groupedData', () => groups.groupedData(name, query));
    for (const member of [name, ...columns.split(',')]) t.true(member in group, `${name}: ${member}`);
  }
  t.deepEqual(watched.missed('groups', groups), []);
});

test.serial('the summary', async (t) => {
  const { summary } = stage.workspace.analytics;
  const answer = await watched.call(t, 'summary.cache', () =>
    summary.cache({ ...range, order_by: 'requests' }),
  );
  t.like(answer, {
    object: 'analytics-summary',
    summary: { hits: 0, avg_latency: 0, total_requests: 3, cache_speedup: 0 },
  });
  t.deepEqual(watched.missed('summary', summary), []);
});

test.serial('what is refused', async (t) => {
  const { graphs, groups } = stage.workspace.analytics;
  const refused = async (call: () => PromiseLike<unknown>, status: number, text: RegExp): Promise<void> =>
    told(t, await t.throwsAsync(async () => call()), status, text);
  await refused(
    () => graphs.cost({ ...range, time_of_generation_max: 'soon' }),
    400,
    /time_of_generation_max/,
  );
  await refused(() => graphs.cost({ ...range, order_by: 'colour' }), 400, /order_by/);
  await refused(() => groups.groupedData('model', { ...range, columns: 'colour' }), 400, /columns/);
  await refused(() => stage.client().analytics.graphs.cost(range), 403, /analytics\.view/);
});

function told(t: ExecutionContext, error: Error | undefined, status: number, text: RegExp): void {
  t.is(statusOf(error), status);
  t.regex(String(error?.message), text);
}
