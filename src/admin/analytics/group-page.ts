// Pages of groups, in the requested order.
import type { AnalyticsSource } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import { Order } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import type {
  LogAggregateRow,
  LogAggregation,
  LogDimension,
  LogMeasure,
} from '../../store/log/aggregation.ts';
import { compare, orderMember } from './arrangement.ts';
import { type AnalyticsDeps, sourceOf } from './deps.ts';
import { asked, type Selection } from './selection.ts';

const DEFAULT_PAGE_SIZE = 100;
/** The most groups that are sorted here, by values that the store cannot sort by. */
const MOST_SORTED = 4000;

/** The order of groups: by the store itself, or by a value computed from its answer. */
export interface GroupOrder {
  readonly measure?: LogMeasure | undefined;
  /** The value is read off the histograms of latencies. */
  readonly latencies?: true | undefined;
  readonly value: (row: LogAggregateRow) => number | string | bigint;
}

/** Which page, as requests carry it. */
export interface GroupPageRequest {
  readonly orderBy?: string | undefined;
  readonly orderByType: Order;
  readonly currentPage?: number | undefined;
  readonly pageSize?: number | undefined;
}

/** The page's place and order. */
export interface GroupPlace {
  readonly by: GroupOrder;
  readonly direction: 'asc' | 'desc';
  readonly skip: number;
  readonly take: number;
}

export interface GroupPage {
  readonly rows: readonly LogAggregateRow[];
  /** Groups there are, beyond the page too. */
  readonly total: number;
  readonly source: AnalyticsSource;
}

/**
 * A page's start and order, the most requests first by default.
 * @param orders by the names that a request may give; `requests` is among them
 * @throws GatewayError validation_failed for another name.
 */
export function groupPlace(
  request: GroupPageRequest,
  orders: Readonly<Record<string, GroupOrder>>,
): GroupPlace {
  const take = request.pageSize ?? DEFAULT_PAGE_SIZE;
  return {
    by: orderMember(request.orderBy ?? 'requests', orders),
    direction: request.orderByType === Order.ASC ? 'asc' : 'desc',
    skip: (request.currentPage ?? 0) * take,
    take,
  };
}

/** An order by the group itself. */
export const BY_GROUP: GroupOrder = { measure: 'group', value: ({ group }) => group[0] ?? '' };
export const BY_REQUESTS: GroupOrder = { measure: 'requests', value: ({ rollup }) => rollup.requests };
export const BY_COST: GroupOrder = { measure: 'cost', value: ({ rollup }) => rollup.cost };

/**
 * The groups of a page.
 * @param latencies whether their histograms are needed
 * @throws GatewayError validation_failed when there are too many for the requested order.
 */
export async function groupPage(
  { store }: AnalyticsDeps,
  { scope, filter }: Selection,
  dimension: LogDimension,
  { by, direction, skip, take }: GroupPlace,
  latencies = false,
): Promise<GroupPage> {
  const histograms = latencies || by.latencies ? {} : ({ latencies: false } as const);
  const read = (aggregation: LogAggregation) =>
    asked(store.aggregate(scope, filter, { ...aggregation, ...histograms, by: [dimension] }));
  if (by.measure !== undefined) {
    const answer = await read({ order: { measure: by.measure, direction }, skip, take });
    return { rows: answer.rows, total: answer.groups, source: sourceOf(answer) };
  }
  const answer = await read({ take: MOST_SORTED });
  if (answer.groups > MOST_SORTED)
    throw invalidField('order_by', `cannot put more than ${MOST_SORTED} groups in order: there are more`);
  const sign = direction === 'asc' ? 1 : -1;
  // Worked out once for each: a percentile is a walk over its histogram.
  const sorted = answer.rows
    .map((row) => ({ row, value: by.value(row) }))
    .sort((a, b) => sign * compare(a.value, b.value) || compare(a.row.group[0] ?? '', b.row.group[0] ?? ''))
    .map(({ row }) => row);
  return { rows: sorted.slice(skip, skip + take), total: answer.groups, source: sourceOf(answer) };
}
