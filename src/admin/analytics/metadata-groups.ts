// Requests by their value of a metadata key, with the feedback that they got.
import { create } from '@bufbuild/protobuf';
import {
  type MetadataGroupList,
  MetadataGroupListSchema,
  type MetadataGroupsRequest,
} from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { LogAggregateRow } from '../../store/log/aggregation.ts';
import { timeText } from '../kit/time.ts';
import { searchable } from '../logs/text.ts';
import type { AnalyticsDeps } from './deps.ts';
import { feedbackOf, weightedMean } from './feedback-of.ts';
import { BY_COST, BY_GROUP, BY_REQUESTS, groupPage, groupPlace } from './group-page.ts';
import { mean } from './ratios.ts';
import { selectionOf } from './selection.ts';

/** ListMetadataGroups. */
export async function listMetadataGroups(
  deps: AnalyticsDeps,
  request: MetadataGroupsRequest,
  call: Call,
): Promise<MetadataGroupList> {
  let feedback: ReadonlyMap<string, Liked> = new Map();
  const likedBy = ({ group }: LogAggregateRow): Liked => feedback.get(group[0] ?? '') ?? NOT_LIKED;
  const place = groupPlace(request, {
    requests: BY_REQUESTS,
    cost: BY_COST,
    last_seen: { measure: 'lastSeen', value: ({ rollup }) => rollup.lastSeen },
    metadata_value: BY_GROUP,
    avg_tokens: { value: ({ rollup }) => mean(rollup.totalTokens, rollup.requests) },
    avg_weighted_feedback: { value: (row) => likedBy(row).avgWeightedFeedback },
    requests_with_feedback: { value: (row) => Number(likedBy(row).requestsWithFeedback) },
  });
  const selection = await selectionOf(deps, request, call);
  const dimension = { metadata: searchable('metadata_key', request.metadataKey) };
  const found = await feedbackOf(deps, selection, dimension);
  feedback = new Map(
    found.map((of) => [
      of.group,
      { avgWeightedFeedback: weightedMean(of), requestsWithFeedback: BigInt(of.traces) },
    ]),
  );
  const { rows, total, source } = await groupPage(deps, selection, dimension, place);
  return create(MetadataGroupListSchema, {
    object: 'list',
    total: BigInt(total),
    source,
    data: rows.map((row) => ({
      object: 'analytics-group',
      metadataValue: row.group[0] ?? '',
      requests: BigInt(row.rollup.requests),
      cost: inCents(row.rollup.cost),
      costExact: String(row.rollup.cost),
      avgTokens: mean(row.rollup.totalTokens, row.rollup.requests),
      lastSeen: timeText(row.rollup.lastSeen),
      ...likedBy(row),
    })),
  });
}

interface Liked {
  readonly avgWeightedFeedback: number;
  readonly requestsWithFeedback: bigint;
}

const NOT_LIKED: Liked = { avgWeightedFeedback: 0, requestsWithFeedback: 0n };
