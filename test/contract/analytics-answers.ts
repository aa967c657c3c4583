// What analytics answer of four calls of an hour, by operation.
import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsSummariesService } from '../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import { logEntry } from '../store/log-entries.ts';
import type { TestGateway } from '../support/gateway.ts';
import type { Case, JsonObject } from './runner.ts';

const { method: graph } = AnalyticsGraphsService;
const { method: group } = AnalyticsGroupsService;
const { method: summary } = AnalyticsSummariesService;

/** The hour of the answers. */
export const HOUR = {
  time_of_generation_min: '2026-01-31T10:00:00Z',
  time_of_generation_max: '2026-01-31T10:02:30Z',
};
export const MINUTES = [0, 1, 2].map((minute) => `2026-01-31T10:0${minute}:00.000Z`);

/** Records the calls, in an hour of that day. */
export function recordCalls({ app: { requestLog, tenancy } }: TestGateway, hour = 10): void {
  const at = (time: string): number => Date.parse(`2026-01-31T${hour}:${time}Z`);
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
        id: `analytics-${hour}-${i}`,
        traceId: `analytics-${hour}-${i}`,
        ...tenancy,
        apiKeyId: `key-${i % 2}`,
        usage,
        error: { reason: 'rate_limited', message: 'recorded' },
        ...more,
      }),
    );
}

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
export const list = (...data: readonly JsonObject[]): JsonObject => ({
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
/** Sums of all of them. */
export const model = { requests: 3, cost: 1.2345678902, cost_exact: '12345678902' };

/** By method: the whole answer but its source. */
export const ANSWERS: readonly (readonly [Case['method'], JsonObject, JsonObject?])[] = [
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
  [
    group.listAnalyticsGroups,
    { ...list({ error_reason: 'rate_limited', requests: 3, error_count: 1 }), total: 1 },
    { group_by: 'error_reason', columns: 'error_count' },
  ],
];
