// Histograms are asked for where they are read: a store that leaves out the others changes no answer.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { AnalyticsGraphsService } from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsSummariesService } from '../../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import { COLUMNS } from '../../../src/admin/analytics/columns.ts';
import type { AnalyticsDeps } from '../../../src/admin/analytics/deps.ts';
import { analyticsGraphsService } from '../../../src/admin/analytics/graphs.ts';
import { analyticsGroupsService } from '../../../src/admin/analytics/groups.ts';
import { analyticsSummariesService } from '../../../src/admin/analytics/summaries.ts';
import { codec } from '../../../src/rest/codec.ts';
import type { LogStore } from '../../../src/store/log-store.ts';
import { logModel } from '../../store/log-model.ts';
import { anyCall, overStore } from './services.ts';
import { traffic } from './traffic.ts';

const DAY_MS = 86_400_000;
const from = Date.parse('2026-01-31T00:00:00Z');
const ground = {
  organisationId: 'org-1',
  workspaceIds: ['ws-1'],
  apiKeyIds: ['a', 'b'],
  from,
  until: from + DAY_MS,
};
const range = {
  timeOfGenerationMin: new Date(from).toISOString(),
  timeOfGenerationMax: new Date(from + DAY_MS).toISOString(),
};
type Methods = Record<string, (request: unknown, call: unknown) => Promise<never>>;

/** Leaves histograms out where they are not asked for, and counts how often it did. */
function thrifty(store: LogStore, left: { count: number }): LogStore {
  return {
    ...store,
    aggregate: async (scope, filter, aggregation) => {
      const answer = await store.aggregate(scope, filter, aggregation);
      if (aggregation.latencies !== false) return answer;
      left.count++;
      const rows = answer.rows.map((row) => ({ ...row, rollup: { ...row.rollup, latencies: new Map() } }));
      return { ...answer, rows };
    },
  };
}

async function answers(deps: AnalyticsDeps): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const services = [
    [AnalyticsGraphsService, analyticsGraphsService(deps)],
    [AnalyticsSummariesService, analyticsSummariesService(deps)],
    [AnalyticsGroupsService, analyticsGroupsService(deps)],
  ] as const;
  for (const [service, methods] of services)
    for (const { localName, name, input, output } of service.methods) {
      // Its names are looked up in the documents.
      if (name === 'ListWorkspaceGroups') continue;
      const ask = async (more: object): Promise<unknown> => {
        const request = create(input, { ...range, metadataKey: 'team name', ...more } as never);
        return codec.encode(output, await (methods as unknown as Methods)[localName]!(request, anyCall()));
      };
      if (name !== 'ListAnalyticsGroups') found[name] = await ask({});
      else
        for (const column of Object.keys(COLUMNS)) {
          const group = { groupBy: 'model', includeTotal: true };
          found[`by ${column}`] = await ask({ ...group, orderBy: column });
          found[`with ${column}`] = await ask({ ...group, columns: column });
        }
    }
  return found;
}

test('answers are the same', async (t) => {
  const model = logModel();
  await model.append(traffic(ground, 1, 400));
  const left = { count: 0 };
  const all = await answers(overStore(model));
  t.deepEqual(await answers(overStore(thrifty(model, left))), all);
  t.true(left.count > 40, `${left.count} without`);
});
