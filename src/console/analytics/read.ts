// What the analytics page shows, read by the contract's own operations.
import { AnalyticsGraphsService } from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { client } from '../api.ts';
import { latest } from '../clock.ts';
import { timeOf } from '../figures.ts';
import { filtersOf } from '../log-query.ts';
import { type Group, groupOf } from './groups.ts';

export const DEFAULT_FROM = '24h';

/** Filters and times as the operations take them. */
export interface Range {
  readonly timeOfGenerationMin: string;
  readonly timeOfGenerationMax: string;
}

export function rangeOf(params: URLSearchParams): Range & ReturnType<typeof filtersOf> {
  const until = new Date(latest()).toISOString();
  return {
    ...filtersOf(params),
    timeOfGenerationMin: timeOf(params.get('from')) ?? timeOf(DEFAULT_FROM) ?? until,
    timeOfGenerationMax: timeOf(params.get('to')) ?? until,
  };
}

/** The same length of time, right before it. */
export function before<R extends Range>(range: R): R {
  const [from, to] = [Date.parse(range.timeOfGenerationMin), Date.parse(range.timeOfGenerationMax)];
  return {
    ...range,
    timeOfGenerationMin: new Date(from - (to - from)).toISOString(),
    timeOfGenerationMax: range.timeOfGenerationMin,
  };
}

/** By what the address groups; a metadata member is named apart. */
export function groupingOf(params: URLSearchParams): string {
  const by = params.get('by') ?? 'model';
  return by === 'metadata' ? `metadata.${params.get('member') ?? 'team'}` : by;
}

export async function readGraphs(range: Range, signal: AbortSignal) {
  const graphs = client(AnalyticsGraphsService);
  const [requests, cost, latency, tokens, errors, codes] = await Promise.all([
    graphs.getRequestsGraph(range, { signal }),
    graphs.getCostGraph(range, { signal }),
    graphs.getLatencyGraph(range, { signal }),
    graphs.getTokensGraph(range, { signal }),
    graphs.getErrorsGraph(range, { signal }),
    graphs.getErrorCodesGraph(range, { signal }),
  ]);
  return { requests, cost, latency, tokens, errors, codes };
}

/** Statuses of errors, as the log's filter takes them; empty: there was no error. */
export function errorStatuses({ codes }: Graphs): string {
  return codes.dataPoints.map(({ statusCode }) => String(statusCode)).join(',');
}

export type Graphs = Awaited<ReturnType<typeof readGraphs>>;

export async function readGroups(range: Range, by: string, signal: AbortSignal): Promise<readonly Group[]> {
  const groups = client(AnalyticsGroupsService);
  if (by.startsWith('metadata.')) {
    const metadataKey = by.slice('metadata.'.length);
    const { data } = await groups.listMetadataGroups({ ...range, metadataKey }, { signal });
    return data.map(({ metadataValue: value, requests, costExact }) => ({
      value,
      name: value,
      requests,
      costExact,
    }));
  }
  const columns = 'cost,total_tokens,avg_latency,error_count';
  const { data } = await groups.listAnalyticsGroups({ ...range, groupBy: by, columns }, { signal });
  return data.map(groupOf);
}
