// The port's facets: of stored roll-ups where these answer, of entries where they do not, in a bounded time.
import { toGatewayError } from '../../../lib/errors.ts';
import type { LogAggregate, LogAggregation, LogDimension } from '../../log/aggregation.ts';
import {
  type LogFacets,
  type LogFacetsQuestion,
  type LogFacetValues,
  mostFrequent,
} from '../../log/facets.ts';
import type { LogFilter } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import { type CheckedScope, entryMatch } from './entry-filter.ts';
import { countFacets } from './facet-counts.ts';
import type { LogPlace } from './place.ts';
import { rollupQuery } from './rollups.ts';

/** Milliseconds that a caller waits for facets, those that roll-ups get, and those after which what is counted counts. */
export const FACETS_MS = 12_000;
const ROLLED_MS = 3000;
const ENTRIES_MS = 8000;

/** What facets are put together from. */
export interface FacetSources {
  readonly aggregate: (aggregation: LogAggregation, deadline: Deadline) => Promise<LogAggregate>;
  readonly metadataNames: (most: number, deadline: Deadline) => Promise<readonly string[]>;
}

/** @param filter without a condition on feedback */
export async function readFacets(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  { by, take, names }: LogFacetsQuestion,
  { aggregate, metadataNames }: FacetSources,
  deadline: Deadline,
): Promise<LogFacets> {
  const rolled = limited(deadline, ROLLED_MS);
  const entries = limited(deadline, ENTRIES_MS);
  const found = new Map<LogDimension, LogFacetValues>();
  const named = metadataNames(names, entries);
  const kept = by.filter((dimension) => rollupQuery(scope, filter, { by: [dimension] }) !== undefined);
  const read = async (): Promise<void> => {
    for (let next = kept.pop(); next !== undefined; next = kept.pop()) {
      const values = await valuesOf(aggregate, next, take, rolled);
      if (values !== undefined) found.set(next, { values });
    }
  };
  const [known] = await Promise.all([named, read(), read()]);
  const left = by.filter((dimension) => !found.has(dimension));
  if (left.length > 0) {
    const { from = 0, until = Number.MAX_SAFE_INTEGER } = filter;
    const buckets = await place.buckets.list('entries', entries, from, until);
    const match = entryMatch(scope, filter);
    const { counts, countedFrom } = await countFacets(place, buckets, { match, from, until }, left, entries);
    for (const [index, dimension] of left.entries()) {
      const values = mostFrequent(counts[index] as Map<string, number>, take);
      found.set(dimension, { values, ...(countedFrom === undefined ? {} : { countedFrom }) });
    }
  }
  return { facets: by.map((dimension) => found.get(dimension) ?? { values: [] }), metadataNames: known };
}

/** Undefined: roll-ups, and the entries that they do not cover, cannot be read in time. */
async function valuesOf(
  aggregate: FacetSources['aggregate'],
  dimension: LogDimension,
  take: number,
  deadline: Deadline,
): Promise<LogFacetValues['values'] | undefined> {
  const order = { measure: 'requests', direction: 'desc' } as const;
  if (deadline.remaining() <= 1) return undefined;
  try {
    // One of them may be '', which is no value.
    const { rows } = await aggregate({ by: [dimension], order, take: take + 1, latencies: false }, deadline);
    const counts = new Map(rows.map(({ group, rollup }) => [group[0] ?? '', rollup.requests]));
    return mostFrequent(counts, take);
  } catch (error) {
    const { reason } = toGatewayError(error);
    if (reason === 'validation_failed' || deadline.remaining() <= 1) return undefined;
    throw error;
  }
}

/** A part of the time of a call. */
function limited(deadline: Deadline, ms: number): Deadline {
  const until = performance.now() + ms;
  return {
    remaining: () => Math.max(1, Math.min(deadline.remaining(), Math.floor(until - performance.now()))),
    backOff: deadline.backOff,
  };
}
