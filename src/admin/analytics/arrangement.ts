// The order of data points, and the page of them.
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import { Order } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { invalidField } from '../../lib/errors.ts';

const DEFAULT_PAGE_SIZE = 100;

/** The members that points can be ordered by, the default first. */
export type Members<P> = Readonly<Record<string, (point: P) => number | string>>;

/**
 * How points are arranged: rising by the first member unless the request has an order, all of them unless it
 * asks for a page.
 * @throws GatewayError validation_failed for a member that there is not.
 */
export function arrangementOf<P>(
  request: Pick<AnalyticsRequest, 'orderBy' | 'orderByType' | 'currentPage' | 'pageSize'>,
  members: Members<P>,
): <Q extends P>(points: readonly Q[]) => Q[] {
  const names = Object.keys(members);
  const { orderBy = names[0] ?? '', currentPage, pageSize } = request;
  const memberOf = orderMember(orderBy, members);
  const sign = request.orderByType === Order.DESC ? -1 : 1;
  const whole = currentPage === undefined && pageSize === undefined;
  const size = pageSize ?? DEFAULT_PAGE_SIZE;
  const skip = (currentPage ?? 0) * size;
  return (points) => {
    const sorted = [...points].sort((a, b) => sign * compare(memberOf(a), memberOf(b)));
    return whole ? sorted : sorted.slice(skip, skip + size);
  };
}

/** A member by its name. @throws GatewayError validation_failed. */
export function orderMember<V>(name: string, members: Readonly<Record<string, V>>): V {
  const found = Object.hasOwn(members, name) ? members[name] : undefined;
  if (found === undefined)
    throw invalidField('order_by', `must be one of ${Object.keys(members).join(', ')}`);
  return found;
}

/** Below 0 when the first comes first. */
export function compare(a: number | string | bigint, b: number | string | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
