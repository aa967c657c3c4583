// The common part of all graphs over time.
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import { arrangementOf, type Members } from './arrangement.ts';
import type { AnalyticsDeps } from './deps.ts';
import { readSeries, type SeriesOptions, type Slot } from './series.ts';

/** Points over time are put in order by their time alone. */
export const BY_TIME: Members<{ readonly timestamp: string }> = { timestamp: ({ timestamp }) => timestamp };

/** A request's totals, and the function that makes the points of its graph. @throws GatewayError validation_failed. */
export async function timedGraph(
  deps: AnalyticsDeps,
  request: AnalyticsRequest,
  call: Call,
  options?: SeriesOptions,
) {
  const arranged = arrangementOf(request, BY_TIME);
  const series = await readSeries(deps, request, call, options);
  const { source, bucketSeconds } = series;
  return {
    series,
    head: { object: 'analytics-graph', source, bucketSeconds },
    /** A point for each requested slot. */
    points: <P extends object>(pointOf: (slot: Slot) => P) =>
      arranged(series.slots).map((slot) => ({ timestamp: slot.timestamp, ...pointOf(slot) })),
  };
}
