// What the analytics page shows, read by the contract's own operations.
import { AnalyticsGraphsService } from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { client } from '../api.ts';
import { latest } from '../clock.ts';
import { timeOf } from '../figures.ts';
import { filtersOf } from '../log-query.ts';
import { type Group, groupOf, type Totals } from './groups.ts';

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

/** What all calls of a time came to. */
export async function readTotals(range: Range, signal?: AbortSignal): Promise<Totals> {
  const graphs = client(AnalyticsGraphsService);
  const options = signal === undefined ? {} : { signal };
  const [requests, cost] = await Promise.all([
    graphs.getRequestsGraph(range, options),
    graphs.getCostGraph(range, options),
  ]);
  return totalsOf({ requests, cost });
}

export function totalsOf({ requests, cost }: Pick<Graphs, 'requests' | 'cost'>): Totals {
  return { requests: requests.summary?.total ?? 0n, costExact: cost.summary?.totalExact };
}

/** Statuses of errors, as the log's filter takes them; empty: there was no error. */
export function errorStatuses({ codes }: Graphs): string {
  return codes.dataPoints.map(({ statusCode }) => String(statusCode)).join(',');
}

export type Graphs = Awaited<ReturnType<typeof readGraphs>>;

/** Groups of one question; more are read page by page. */
const PAGE = 1000;
/** Groups that a file holds; the others are one line of it. */
export const MOST_GROUPS = 50_000;

export interface Groups {
  /** Those with the most requests. */
  readonly groups: readonly Group[];
  /** Groups there are. */
  readonly total: number;
}

/** @param most groups that are read, at least a page */
export async function readGroups(
  range: Range,
  by: string,
  signal: AbortSignal | undefined,
  most = PAGE,
): Promise<Groups> {
  // New entries move groups from page to page: each counts once.
  const found = new Map<string, Group>();
  let total = 0;
  for (let page = 0; page * PAGE < most; page++) {
    const { groups, total: all } = await readPage(range, by, page, signal);
    for (const group of groups) if (!found.has(group.value)) found.set(group.value, group);
    total = all;
    if (groups.length < PAGE) break;
  }
  return { groups: [...found.values()], total };
}

async function readPage(
  range: Range,
  by: string,
  currentPage: number,
  signal: AbortSignal | undefined,
): Promise<Groups> {
  const groups = client(AnalyticsGroupsService);
  const asked = { ...range, currentPage, pageSize: PAGE };
  const options = signal === undefined ? {} : { signal };
  if (by.startsWith('metadata.')) {
    const metadataKey = by.slice('metadata.'.length);
    const { data, total } = await groups.listMetadataGroups({ ...asked, metadataKey }, options);
    return {
      groups: data.map(({ metadataValue: value, requests, costExact }) => ({
        value,
        name: value,
        requests,
        costExact,
      })),
      total: Number(total),
    };
  }
  const columns = 'cost,total_tokens,avg_latency,error_count';
  const { data, total } = await groups.listAnalyticsGroups({ ...asked, groupBy: by, columns }, options);
  return { groups: data.map(groupOf), total: Number(total) };
}
