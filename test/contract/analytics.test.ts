// Analytics over every protocol: each operation's answer in its whole shape, and what is refused.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsSummariesService } from '../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import { logEntry } from '../store/log-entries.ts';
import { ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type Case, invalid, type JsonObject, runCases, startBench } from './runner.ts';

const { method: graph } = AnalyticsGraphsService;
const { method: group } = AnalyticsGroupsService;
const { method: summary } = AnalyticsSummariesService;
const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const HOUR = {
  time_of_generation_min: '2026-01-31T10:00:00Z',
  time_of_generation_max: '2026-01-31T10:02:30Z',
};
const MINUTES = [0, 1, 2].map((minute) => `2026-01-31T10:0${minute}:00.000Z`);

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_LOG_RETENTION_DAYS: '3650' });
  const { requestLog, tenancy } = bench.gateway.app;
  const at = (time: string): number => Date.parse(`2026-01-31T10:${time}Z`);
  const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
  const entries = [
    { createdAt: at('00:00'), cost: '12345678901', latencyMs: 100, retries: 2 },
    { createdAt: at('00:59.999'), cost: '1', latencyMs: 300, statusCode: 500, metadata: { team: 'blue' } },
    {
      createdAt: at('02:00'),
      latencyMs: 2,
      cacheStatus: 'HIT',
      saved: '20000000000',
      rescued: true as const,
    },
    { createdAt: at('02:30'), latencyMs: 9000 },
  ];
  for (const [i, more] of entries.entries())
    requestLog.record(
      logEntry({
        id: `analytics-${i}`,
        traceId: `analytics-${i}`,
        ...tenancy,
        apiKeyId: `key-${i % 2}`,
        usage,
        ...more,
      }),
    );
  await requestLog.flush();
});
test.after.always(() => bench?.close());

const timed = (summaryOf: JsonObject, points: readonly JsonObject[]): JsonObject => ({
  object: 'analytics-graph',
  summary: summaryOf,
  data_points: points.map((point, i) => ({ timestamp: MINUTES[i], ...point })) as JsonObject[],
  bucket_seconds: 60,
});
const plain = (summaryOf: JsonObject, data_points: readonly JsonObject[]): JsonObject => ({
  object: 'analytics-graph',
  summary: summaryOf,
  data_points: [...data_points],
});
const totals = (total: number, ...points: readonly number[]): JsonObject =>
  timed(
    { total },
    points.map((of) => ({ total: of })),
  );
const list = (...data: readonly JsonObject[]): JsonObject => ({
  object: 'list',
  total: data.length,
  data: data.map((one) => ({ object: 'analytics-group', ...one })),
});

const noStats = { retry: [], fallback: 0 };
const saving = {
  cumulative_semantic_cache_savings: 0,
  cumulative_semantic_cache_savings_exact: '0',
  semantic_hits: 0,
};
const noSaving = {
  ...saving,
  simple_hits: 0,
  rate: 0,
  cumulative_simple_cache_savings: 0,
  cumulative_simple_cache_savings_exact: '0',
};
const model = { requests: 3, cost: 1.2345678902, cost_exact: '12345678902' };

/** By method: the whole answer but its source. */
const ANSWERS: readonly (readonly [Case['method'], JsonObject, JsonObject?])[] = [
  [graph.getRequestsGraph, totals(3, 2, 0, 1)],
  [
    graph.getCostGraph,
    timed({ total: 1.2345678902, avg: 1.2345678902 / 3, total_exact: '12345678902' }, [
      { total: 1.2345678902, avg: 0.6172839451, total_exact: '12345678902' },
      { total: 0, avg: 0, total_exact: '0' },
      { total: 0, avg: 0, total_exact: '0' },
    ]),
  ],
  [
    graph.getTokensGraph,
    timed({ total: 45, avg: 15 }, [
      { total: 30, avg: 15 },
      { total: 0, avg: 0 },
      { total: 15, avg: 15 },
    ]),
  ],
  [graph.getUsersGraph, totals(1, 1, 0, 1)],
  [graph.getUserRequestsGraph, timed({ total: 3, unique: 1, avg: 3 }, [{ avg: 2 }, { avg: 0 }, { avg: 1 }])],
  [graph.getErrorsGraph, totals(1, 1, 0, 0)],
  [graph.getErrorRateGraph, timed({ rate: 100 / 3 }, [{ rate: 50 }, { rate: 0 }, { rate: 0 }])],
  [
    graph.getErrorStacksGraph,
    timed({ total: 1 }, [{ stats: [{ response_status_code: 500, count: 1 }] }, { stats: [] }, { stats: [] }]),
  ],
  [
    graph.getErrorCodesGraph,
    plain({ total_errors: 1, unique_error_codes: 1 }, [{ status_code: 500, count: 1 }]),
  ],
  [
    graph.getRescuedRequestsGraph,
    timed({ retry: 1, fallback: 1 }, [
      { retry: [{ retry_success_count: 2, count: 1 }], fallback: 0 },
      noStats,
      { retry: [], fallback: 1 },
    ]),
  ],
  [
    graph.getCacheHitRateGraph,
    timed({ total: 1, rate: 100 / 3 }, [
      noSaving,
      noSaving,
      {
        ...saving,
        simple_hits: 1,
        rate: 100,
        cumulative_simple_cache_savings: 2,
        cumulative_simple_cache_savings_exact: '20000000000',
      },
    ]),
  ],
  [graph.getCacheLatencyGraph, timed({}, [{ avg: 0 }, { avg: 0 }, { avg: 2 }])],
  [graph.getFeedbackGraph, totals(0, 0, 0, 0)],
  [graph.getFeedbackScoresGraph, plain({ total: 0 }, [])],
  [graph.getWeightedFeedbackGraph, timed({ avg: 0 }, [{ avg: 0 }, { avg: 0 }, { avg: 0 }])],
  [graph.getFeedbackModelsGraph, plain({}, [])],
  [
    summary.getCacheSummary,
    {
      object: 'analytics-summary',
      summary: { hits: 1, avg_latency: 2, total_requests: 3, cache_speedup: 99 },
    },
  ],
  [group.listUserGroups, list({ user: 'user-1', requests: '2', cost: '1.2345678901' })],
  [group.listModelGroups, list({ ai_model: 'gpt-4o-mini', ...model })],
  [
    group.listMetadataGroups,
    list({
      metadata_value: 'blue',
      requests: 1,
      cost: 1e-10,
      cost_exact: '1',
      avg_tokens: 15,
      avg_weighted_feedback: 0,
      requests_with_feedback: 0,
      last_seen: '2026-01-31T10:00:59.999Z',
    }),
    { metadata_key: 'team' },
  ],
  [
    group.listAnalyticsGroups,
    {
      ...list({ api_key: 'key-0', requests: 2, cost: 1.2345678901, cost_exact: '12345678901' }),
      total: 2,
      totals: model,
    },
    { group_by: 'api_key', columns: 'cost,requests', include_total: true, page_size: 1 },
  ],
];

const cases: readonly Case[] = [
  ...ANSWERS.map(
    ([method, expected, more]): Case => ({
      name: method.name,
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
    [{ time_of_generation_min: undefined }, 'time_of_generation_min'],
    [{ time_of_generation_max: undefined }, 'time_of_generation_max'],
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
