// Groups of analytics: the request log added up by what entries have in common.
import { create } from '@bufbuild/protobuf';
import {
  type AnalyticsGroupList,
  type AnalyticsGroupsRequest,
  type MetadataGroupList,
  type MetadataGroupsRequest,
  type ModelGroupList,
  ModelGroupListSchema,
  type UserGroupList,
  UserGroupListSchema,
  type WorkspaceGroupList,
  WorkspaceGroupListSchema,
} from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { LogAggregateRow, LogDimension } from '../../store/log/aggregation.ts';
import type { AnalyticsDeps } from './deps.ts';
import { listAnalyticsGroups } from './dimension-groups.ts';
import { BY_COST, BY_GROUP, BY_REQUESTS, groupPage, groupPlace } from './group-page.ts';
import { listMetadataGroups } from './metadata-groups.ts';
import { exactCents } from './ratios.ts';
import { selectionOf } from './selection.ts';
import { workspaceNames } from './workspace-names.ts';

/** The methods of AnalyticsGroupsService. */
export function analyticsGroupsService(deps: AnalyticsDeps) {
  /** @param name by which a request asks for the order of the groups themselves */
  const read = async (request: AnalyticsRequest, call: Call, dimension: LogDimension, name: string) => {
    const place = groupPlace(request, { requests: BY_REQUESTS, cost: BY_COST, [name]: BY_GROUP });
    const selection = await selectionOf(deps, request, call);
    const { rows, total, source } = await groupPage(deps, selection, dimension, place);
    return { rows, scope: selection.scope, head: { object: 'list', total: BigInt(total), source } };
  };
  return {
    async listUserGroups(request: AnalyticsRequest, call: Call): Promise<UserGroupList> {
      const { rows, head } = await read(request, call, 'user', 'user');
      return create(UserGroupListSchema, {
        ...head,
        data: rows.map(({ group, rollup }) => ({
          object: 'analytics-group',
          user: group[0] ?? '',
          requests: String(rollup.requests),
          cost: exactCents(rollup.cost),
        })),
      });
    },

    async listModelGroups(request: AnalyticsRequest, call: Call): Promise<ModelGroupList> {
      const { rows, head } = await read(request, call, 'model', 'ai_model');
      return create(ModelGroupListSchema, {
        ...head,
        data: rows.map((row) => ({ aiModel: row.group[0] ?? '', ...figures(row) })),
      });
    },

    async listWorkspaceGroups(request: AnalyticsRequest, call: Call): Promise<WorkspaceGroupList> {
      const { rows, scope, head } = await read(request, call, 'workspace', 'workspace');
      const ids = rows.map(({ group }) => group[0] ?? '');
      const namesOf = await workspaceNames(deps, scope.organisationId, ids);
      return create(WorkspaceGroupListSchema, {
        ...head,
        data: rows.map((row) => {
          const [workspace = ''] = row.group;
          return { workspace, ...namesOf(workspace), ...figures(row) };
        }),
      });
    },

    listMetadataGroups(request: MetadataGroupsRequest, call: Call): Promise<MetadataGroupList> {
      return listMetadataGroups(deps, request, call);
    },

    listAnalyticsGroups(request: AnalyticsGroupsRequest, call: Call): Promise<AnalyticsGroupList> {
      return listAnalyticsGroups(deps, request, call);
    },
  };
}

function figures({ rollup }: LogAggregateRow) {
  return {
    object: 'analytics-group',
    requests: BigInt(rollup.requests),
    cost: inCents(rollup.cost),
    costExact: String(rollup.cost),
  };
}
