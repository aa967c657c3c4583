// What more is asked of a store than it can add up: hours in the place of minutes, then a refusal in the request's words.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { AnalyticsGroupsRequestSchema } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsRequestSchema } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { AnalyticsDeps } from '../../../src/admin/analytics/deps.ts';
import { analyticsGraphsService } from '../../../src/admin/analytics/graphs.ts';
import { analyticsGroupsService } from '../../../src/admin/analytics/groups.ts';
import { fail, GatewayError, invalidField } from '../../../src/lib/errors.ts';
import type { LogAggregation } from '../../../src/store/log/aggregation.ts';
import { logEntry } from '../../store/log-entries.ts';
import { logModel } from '../../store/log-model.ts';
import { anyCall, overStore } from './services.ts';

const HOUR_MS = 3_600_000;
const FROM = Date.parse('2026-01-31T10:30:00Z');
const request = create(AnalyticsRequestSchema, {
  timeOfGenerationMin: new Date(FROM).toISOString(),
  timeOfGenerationMax: new Date(FROM + 2 * HOUR_MS).toISOString(),
});

/** A store that refuses some questions. */
function factsOf(refuse: (aggregation: LogAggregation) => void): AnalyticsDeps {
  const model = logModel();
  return overStore({
    ...model,
    aggregate: async (scope, filter, aggregation) => {
      refuse(aggregation);
      await model.append([logEntry({ id: 'one', createdAt: FROM + HOUR_MS })]);
      return model.aggregate(scope, filter, aggregation);
    },
    sumFeedback: async () => {
      throw invalidField('until', 'is too far', 'too_many');
    },
  });
}

const tooMuch = (aggregation: LogAggregation): void => {
  if ((aggregation.bucketMs ?? HOUR_MS) < HOUR_MS) throw invalidField('until', 'is too far', 'too_many');
};

test('where minutes are too many, hours are told', async (t) => {
  const graph = await analyticsGraphsService(factsOf(tooMuch)).getRequestsGraph(request, anyCall());
  t.is(graph.bucketSeconds, 3600);
  t.deepEqual(
    graph.dataPoints.map(({ timestamp, total }) => [timestamp.slice(11, 16), total]),
    [
      ['10:00', 0n],
      ['11:00', 1n],
      ['12:00', 0n],
    ],
  );
  const rescued = await analyticsGraphsService(factsOf(tooMuch)).getRescuedRequestsGraph(request, anyCall());
  t.is(rescued.dataPoints.length, 3);
});

test('what is too much for hours, too, is refused by the name of the parameter', async (t) => {
  const refusing = (field: string): AnalyticsDeps =>
    factsOf(() => {
      throw invalidField(field, 'means too much', 'too_many');
    });
  const asked = [
    (deps: AnalyticsDeps) => analyticsGraphsService(deps).getRequestsGraph(request, anyCall()),
    (deps: AnalyticsDeps) => analyticsGraphsService(deps).getErrorCodesGraph(request, anyCall()),
    (deps: AnalyticsDeps) => analyticsGroupsService(deps).listUserGroups(request, anyCall()),
  ];
  for (const ask of asked)
    for (const [field, param] of [
      ['until', 'time_of_generation_max'],
      ['feedback', 'weighted_feedback_min'],
    ] as const) {
      const error = await t.throwsAsync(async () => ask(refusing(field)), { instanceOf: GatewayError });
      t.like(error?.details, {
        param,
        violations: [{ field: param, rule: 'too_many', message: 'means too much' }],
      });
    }
  const feedback = await t.throwsAsync(async () =>
    analyticsGraphsService(factsOf(() => {})).getFeedbackGraph(request, anyCall()),
  );
  t.is((feedback as GatewayError).details.param, 'time_of_generation_max');
});

test('trouble of the store stays what it is', async (t) => {
  const deps = factsOf(() => {
    throw fail('store_unavailable', 'the store is away');
  });
  const error = await t.throwsAsync(async () =>
    analyticsGraphsService(deps).getCostGraph(request, anyCall()),
  );
  t.is((error as GatewayError).reason, 'store_unavailable');
});

test('more groups than are put in order here are refused', async (t) => {
  const deps = factsOf(() => {});
  const many: AnalyticsDeps = {
    ...deps,
    store: { ...deps.store, aggregate: async () => ({ rows: [], groups: 4001, source: 'rollups' }) },
  };
  const groups = analyticsGroupsService(many);
  const by = (orderBy: string) =>
    groups.listAnalyticsGroups(
      create(AnalyticsGroupsRequestSchema, {
        timeOfGenerationMin: request.timeOfGenerationMin,
        groupBy: 'api_key',
        orderBy,
        timeOfGenerationMax: request.timeOfGenerationMax,
      }),
      anyCall(),
    );
  const error = await t.throwsAsync(async () => by('avg_latency'));
  t.is((error as GatewayError).details.param, 'order_by');
  t.is((await by('cost')).total, 4001n);
});
