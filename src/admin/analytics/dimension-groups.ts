// Requests by the requested dimension, with the requested columns.
import { create } from '@bufbuild/protobuf';
import {
  type AnalyticsGroupList,
  AnalyticsGroupListSchema,
  type AnalyticsGroupsRequest,
} from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import type { LogDimension } from '../../store/log/aggregation.ts';
import { addRollup, emptyRollup } from '../../store/log/rollups.ts';
import { COLUMNS, type Column, columnsOf, membersOf } from './columns.ts';
import type { AnalyticsDeps } from './deps.ts';
import { BY_GROUP, type GroupOrder, groupPage, groupPlace } from './group-page.ts';
import { asked, type Selection, selectionOf } from './selection.ts';
import { workspaceNames } from './workspace-names.ts';

/** The dimension that groups requests, and the member that names the group. */
export const DIMENSIONS = {
  ai_service: { dimension: 'provider', member: (value: string) => ({ aiService: value }) },
  model: { dimension: 'model', member: (value: string) => ({ model: value }) },
  status_code: { dimension: 'statusCode', member: (value: string) => ({ statusCode: Number(value) }) },
  api_key: { dimension: 'apiKey', member: (value: string) => ({ apiKey: value }) },
  config: { dimension: 'config', member: (value: string) => ({ config: value }) },
  workspace: { dimension: 'workspace', member: (value: string) => ({ workspace: value }) },
  provider: { dimension: 'virtualKey', member: (value: string) => ({ provider: value }) },
  prompt: { dimension: 'prompt', member: (value: string) => ({ prompt: value }) },
  error_reason: { dimension: 'errorReason', member: (value: string) => ({ errorReason: value }) },
} as const satisfies Readonly<Record<string, { dimension: LogDimension; member: (value: string) => object }>>;

/** ListAnalyticsGroups. */
export async function listAnalyticsGroups(
  deps: AnalyticsDeps,
  request: AnalyticsGroupsRequest,
  call: Call,
): Promise<AnalyticsGroupList> {
  const { groupBy } = request;
  if (!isGroup(groupBy))
    throw invalidField('group_by', `must be one of ${Object.keys(DIMENSIONS).join(', ')}`);
  const { dimension, member } = DIMENSIONS[groupBy];
  const columns = columnsOf(request.columns);
  const place = groupPlace(request, { ...COLUMN_ORDERS, [groupBy]: BY_GROUP });
  const selection = await selectionOf(deps, request, call);
  const [{ rows, total, source }, totals] = await Promise.all([
    groupPage(deps, selection, dimension, place, readsLatencies(columns)),
    request.includeTotal ? totalsOf(deps, selection, columns, dimension) : undefined,
  ]);
  const groups = rows.map(({ group }) => group[0] ?? '');
  const namesOf =
    groupBy === 'workspace'
      ? await workspaceNames(deps, selection.scope.organisationId, groups)
      : () => undefined;
  return create(AnalyticsGroupListSchema, {
    object: 'list',
    total: BigInt(total),
    source,
    data: rows.map(({ rollup }, i) => ({
      object: 'analytics-group',
      ...member(groups[i] ?? ''),
      ...namesOf(groups[i] ?? ''),
      requests: BigInt(rollup.requests),
      ...membersOf(columns, rollup),
    })),
    ...(totals ? { totals } : {}),
  });
}

const COLUMN_ORDERS: Readonly<Record<string, GroupOrder>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, { measure, latencies, value }]) => [
    name,
    { measure, latencies, value: ({ rollup }) => value(rollup) },
  ]),
);

function isGroup(name: string): name is keyof typeof DIMENSIONS {
  return Object.hasOwn(DIMENSIONS, name);
}

function readsLatencies(columns: readonly Column[]): boolean {
  return columns.some(({ latencies }) => latencies);
}

/** Of all groups together: requests that are in none of them do not count. */
async function totalsOf(
  deps: AnalyticsDeps,
  { scope, filter }: Selection,
  columns: readonly Column[],
  dimension: LogDimension,
) {
  const { rows } = await asked(
    deps.store.aggregate(scope, filter, {
      ...(dimension === 'errorReason' ? { by: [dimension] } : {}),
      ...(readsLatencies(columns) ? {} : { latencies: false }),
    }),
  );
  const rollup = emptyRollup();
  for (const row of rows) addRollup(rollup, row.rollup);
  return { requests: BigInt(rollup.requests), ...membersOf(columns, rollup) };
}
