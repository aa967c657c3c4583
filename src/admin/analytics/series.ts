// Totals over time, with a point for every interval.
import type { AnalyticsRequest, AnalyticsSource } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import type { LogAggregate, LogAggregateRow, LogDimension, LogRollups } from '../../store/log/aggregation.ts';
import { addRollup, emptyRollup } from '../../store/log/rollups.ts';
import { timeText } from '../kit/time.ts';
import { bucketLength, bucketsOf, HOUR_MS } from './buckets.ts';
import { type AnalyticsDeps, sourceOf } from './deps.ts';
import { asked, isTooMuch, type Selection, selectionOf } from './selection.ts';

/** One stretch of time. */
export interface Slot {
  /** ISO 8601. */
  readonly timestamp: string;
  /** Of all entries in it; zeros where it is grouped. */
  readonly rollup: LogRollups;
  /** The number of distinct values. */
  readonly unique: number;
  /** Totals by group: of the requested dimension, and of the additional one. */
  readonly groups: readonly LogAggregateRow[];
  readonly besides: readonly LogAggregateRow[];
}

/** What a series contains for each slot. */
export interface SeriesOptions {
  readonly by?: LogDimension;
  /** Groups by another dimension: stores keep more groups of one dimension than of several together. */
  readonly beside?: LogDimension;
  /** Counts the distinct values. */
  readonly unique?: LogDimension;
  /** Whether the slots' histograms of latencies are needed; the series has none. */
  readonly latencies?: boolean;
  /** Whether the times to first token are needed. */
  readonly firstTokens?: boolean;
}

/** A range of time in its stretches, oldest first. */
export interface Series {
  readonly slots: readonly Slot[];
  /** Of all entries, without a histogram; zeros where it is grouped. */
  readonly rollup: LogRollups;
  /** Distinct values over all. */
  readonly unique: number;
  readonly source: AnalyticsSource;
  readonly bucketSeconds: number;
}

/** Adds up a request's entries. @throws GatewayError validation_failed, naming the parameter. */
export async function readSeries(
  deps: AnalyticsDeps,
  request: AnalyticsRequest,
  call: Call,
  options: SeriesOptions = {},
): Promise<Series> {
  return readSelected(deps, await selectionOf(deps, request, call), options);
}

/** Adds up the entries of a selection. @throws GatewayError validation_failed, naming the parameter. */
export async function readSelected(
  deps: AnalyticsDeps,
  selection: Selection,
  options: SeriesOptions = {},
): Promise<Series> {
  const { from, until } = selection.filter;
  const { main, beside, bucketMs } = await aggregated(deps, selection, options);
  const slots = new Map(bucketsOf(from, until, bucketMs).map((at) => [at, emptySlot(at)]));
  const rollup = emptyRollup();
  for (const row of main.rows) {
    const slot = slots.get(row.bucket);
    if (slot === undefined) continue;
    if (options.by === undefined) {
      // Without groups a slot has one row.
      Object.assign(slot, { rollup: row.rollup, unique: row.unique ?? 0 });
      addCounts(rollup, row.rollup);
    } else {
      slot.groups.push(row);
    }
  }
  for (const row of beside?.rows ?? []) slots.get(row.bucket)?.besides.push(row);
  return {
    slots: [...slots.values()],
    rollup,
    unique: main.unique ?? 0,
    source: sourceOf(main, ...(beside ? [beside] : [])),
    bucketSeconds: bucketMs / 1000,
  };
}

function emptySlot(at: number) {
  const groups: LogAggregateRow[] = [];
  const besides: LogAggregateRow[] = [];
  return { timestamp: timeText(at), rollup: emptyRollup(), unique: 0, groups, besides };
}

const NO_LATENCIES: LogRollups['latencies'] = new Map();

/** Adds other totals, except for their histogram. */
function addCounts(rollup: LogRollups, more: LogRollups): void {
  addRollup(rollup, { ...more, latencies: NO_LATENCIES });
}

interface Aggregated {
  readonly main: LogAggregate;
  readonly beside: LogAggregate | undefined;
  readonly bucketMs: number;
}

/** The totals, by hour where minutes would be more than the store can add up. */
async function aggregated(
  { store }: AnalyticsDeps,
  { scope, filter }: Selection,
  { by, beside, unique, latencies = false, firstTokens = false }: SeriesOptions,
): Promise<Aggregated> {
  const read = async (bucketMs: number): Promise<Aggregated> => {
    const answerBy = (dimension: LogDimension | undefined) =>
      store.aggregate(scope, filter, {
        bucketMs,
        ...(dimension === undefined ? {} : { by: [dimension] }),
        ...(unique === undefined ? {} : { unique }),
        ...(latencies ? {} : { latencies: false }),
        ...(firstTokens ? { firstTokens } : {}),
      });
    const [main, other] = await Promise.all([
      answerBy(by),
      beside === undefined ? undefined : answerBy(beside),
    ]);
    return { main, beside: other, bucketMs };
  };
  const bucketMs = bucketLength(filter.from, filter.until);
  return asked(
    read(bucketMs).catch((error: unknown) => {
      if (bucketMs >= HOUR_MS || !isTooMuch(error)) throw error;
      return read(HOUR_MS);
    }),
  );
}
