// Analytics over every protocol: each operation's answer in its whole shape, and what is refused.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsSummariesService } from '../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import { ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { ANSWERS, HOUR, list, MINUTES, model, recordCalls } from './analytics-answers.ts';
import { type Bench, type Case, invalid, type JsonObject, runCases, startBench } from './runner.ts';

const { method: graph } = AnalyticsGraphsService;
const { method: group } = AnalyticsGroupsService;
const { method: summary } = AnalyticsSummariesService;
const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_LOG_RETENTION_DAYS: '3650' });
  const { gateway } = bench;
  recordCalls(gateway);
  await gateway.app.requestLog.flush();
});
test.after.always(() => bench?.close());

const cases: readonly Case[] = [
  ...ANSWERS.map(
    ([method, expected, more]): Case => ({
      name: more?.group_by === undefined ? method.name : `${method.name} by ${more.group_by}`,
      method,
      headers: ADMIN,
      body: { ...HOUR, ...more },
      check: (t, { json: { source, ...json } }) => {
        t.deepEqual(json, expected);
        t.regex(String(source), /^(rollups|entries|feedback)$/);
      },
    }),
  ),
  {
    name: 'GetLatencyGraph',
    method: graph.getLatencyGraph,
    headers: ADMIN,
    body: HOUR,
    check: (t, { json }) => {
      const { avg, p50, p90, p99 } = json.summary as Record<string, number>;
      t.is(avg, 134);
      for (const [value, exact] of [
        [p50, 100],
        [p90, 300],
        [p99, 300],
      ] as const)
        t.true(Math.abs(Number(value) - exact) <= exact / 100, `${value} is not ${exact}`);
      t.like((json.data_points as JsonObject[])[1], {
        avg: 0,
        p50: 0,
        p90: 0,
        p99: 0,
        timestamp: MINUTES[1],
      });
    },
  },
  {
    name: 'ListWorkspaceGroups',
    method: group.listWorkspaceGroups,
    headers: ADMIN,
    body: HOUR,
    check: (t, { json: { source: _, ...json } }) =>
      t.deepEqual(
        json,
        list({
          workspace: bench.gateway.app.tenancy.workspaceId,
          workspace_slug: 'default',
          workspace_name: 'Default workspace',
          ...model,
        }),
      ),
  },
  {
    name: 'points newest first, by page',
    method: graph.getRequestsGraph,
    headers: ADMIN,
    body: { ...HOUR, order_by: 'timestamp', order_by_type: 'desc', page_size: 2, current_page: 1 },
    check: (t, { json }) =>
      t.deepEqual([json.summary, json.data_points], [{ total: 3 }, [{ timestamp: MINUTES[0], total: 2 }]]),
  },
  ...refusals(graph.getRequestsGraph, [
    [{ time_of_generation_min: 'yesterday' }, 'time_of_generation_min'],
    [{ time_of_generation_max: HOUR.time_of_generation_min }, 'time_of_generation_max'],
    [{ time_of_generation_min: '2020-01-01T00:00:00Z' }, 'time_of_generation_min'],
    [{ workspace_slug: 'nowhere' }, 'workspace_slug'],
    [{ workspace_slug: '00000000-0000-4000-8000-000000000000' }, 'workspace_slug'],
    [{ order_by: 'total' }, 'order_by'],
    [{ order_by: 'constructor' }, 'order_by'],
    [{ page_size: 0 }, 'page_size'],
    [{ page_size: 1001 }, 'page_size'],
    [{ current_page: -1 }, 'current_page'],
    [{ status_code: '200,abc' }, 'status_code'],
    [{ metadata: '[1]' }, 'metadata'],
    [{ cost_min: -1 }, 'cost_min'],
    [{ cost_min: 2, cost_max: 1 }, 'cost_max'],
    [{ total_units_min: -1 }, 'total_units_min'],
    [{ weighted_feedback_max: 11 }, 'weighted_feedback_max'],
    [{ ai_org_model: 'openai' }, 'ai_org_model'],
    [{ cache_status: 'WARM' }, 'cache_status'],
    [{ virtual_keys: 'a,,b' }, 'virtual_keys'],
  ]),
  ...refusals(group.listAnalyticsGroups, [
    [{ group_by: 'colour' }, 'group_by'],
    [{ group_by: 'constructor' }, 'group_by'],
    [{ group_by: 'model', columns: 'cost,secrets' }, 'columns'],
    [{ group_by: 'model', columns: 'toString' }, 'columns'],
    [{ group_by: 'model', order_by: 'prompt' }, 'order_by'],
  ]),
  ...refusals(group.listUserGroups, [[{ order_by: 'avg_tokens' }, 'order_by']]),
  ...refusals(group.listMetadataGroups, [
    [{ metadata_key: 'team', order_by: 'team' }, 'order_by'],
    [{ metadata_key: 'x'.repeat(600) }, 'metadata_key'],
  ]),
  ...refusals(graph.getErrorCodesGraph, [[{ order_by: 'timestamp' }, 'order_by']]),
  {
    name: 'a key without the scope',
    method: graph.getCostGraph,
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, authorization: undefined },
    body: HOUR,
    refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
  },
  {
    name: 'no key',
    method: summary.getCacheSummary,
    headers: { 'x-gateway-api-key': undefined, authorization: undefined },
    body: HOUR,
    refused: { status: 401, code: Code.Unauthenticated, reason: 'unauthenticated' },
  },
  {
    name: 'an order that is none',
    method: graph.getCostGraph,
    headers: ADMIN,
    body: { ...HOUR, order_by_type: 'sideways' },
    over: ['rest'],
    refused: invalid('order_by_type'),
  },
  {
    name: 'an unknown parameter',
    method: graph.getCostGraph,
    headers: ADMIN,
    body: { ...HOUR, colour: 'blue' },
    over: ['rest'],
    refused: invalid('colour'),
  },
];

function refusals(
  method: Case['method'],
  given: readonly (readonly [Readonly<Record<string, string | number | undefined>>, string])[],
): Case[] {
  return given.map(([more, param]) => ({
    name: `${method.name} with ${JSON.stringify(more, (_, value) => value ?? null).slice(0, 80)}`,
    method,
    headers: ADMIN,
    body: Object.fromEntries(
      Object.entries({ ...HOUR, ...more }).filter(([, value]) => value !== undefined),
    ) as JsonObject,
    refused: invalid(param),
  }));
}

runCases(test, () => bench, cases);

/** The Node SDK's own names, and the twin of groups beside the logs. */
const ALIASES: Readonly<Record<string, string>> = {
  'analytics/graphs/users-requests': 'analytics/graphs/users/requests',
  'analytics/graphs/errors-rate': 'analytics/graphs/errors/rate',
  'analytics/graphs/errors-stack': 'analytics/graphs/errors/stacks',
  'analytics/graphs/errors-status-code': 'analytics/graphs/errors/status-codes',
  'analytics/graphs/requests-rescued': 'analytics/graphs/requests/rescued',
  'analytics/graphs/cache-hit-rate': 'analytics/graphs/cache/hit-rate',
  'analytics/graphs/cache-latency': 'analytics/graphs/cache/latency',
  'analytics/graphs/feedbacks/score': 'analytics/graphs/feedbacks/scores',
  'logs/groups/api_key': 'analytics/groups/api_key',
};

test('each path has its answer under its other name too', async (t) => {
  const query = new URLSearchParams(HOUR);
  for (const [alias, path] of Object.entries(ALIASES)) {
    const answer = await ok(bench.gateway, 'GET', `/${path}?${query}`);
    t.deepEqual(await ok(bench.gateway, 'GET', `/${alias}?${query}`), answer, alias);
    t.true(((answer.data_points ?? answer.data) as unknown[]).length > 0 || path.includes('feedbacks'), path);
  }
});

test('Python writes truth values with a capital letter', async (t) => {
  const query = new URLSearchParams({ ...HOUR, include_total: 'True' });
  t.like(await ok(bench.gateway, 'GET', `/analytics/groups/model?${query}`), { totals: { requests: 3 } });
  query.set('include_total', 'False');
  t.false('totals' in (await ok(bench.gateway, 'GET', `/analytics/groups/model?${query}`)));
  query.set('include_total', 'TRUTH');
  t.is((await send(bench.gateway, 'GET', `/analytics/groups/model?${query}`)).status, 400);
});

test('a metadata key may be any text', async (t) => {
  const query = new URLSearchParams(HOUR);
  for (const key of ['a/b', '%', '__proto__', 'constructor', '字', ' ']) {
    const path = `/analytics/groups/metadata/${encodeURIComponent(key)}?${query}`;
    t.like(await ok(bench.gateway, 'GET', path), { total: 0, data: [] }, key);
  }
});
