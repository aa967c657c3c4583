// The port's aggregations, over the reading worker.
import { setImmediate } from 'node:timers/promises';
import type {
  FirstTokens,
  Histogram,
  LogAggregate,
  LogAggregateRow,
  LogRollups,
} from '../../log/aggregation.ts';
import { checkAggregation } from '../../log/aggregation-checks.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { LogStore } from '../../log-store.ts';
import type { WorkerBounds, WorkerClient } from '../worker-client.ts';
import { AT, STRIDE } from './accumulator.ts';
import { scopeOf } from './entries.ts';
import type { PackedFirstTokens } from './first-token-totals.ts';
import type { PackedHistograms } from './histograms.ts';
import type { LogReaderCall } from './protocol.ts';
import { SUMS_MS } from './question-time.ts';
import type { RollupRows } from './rollup-rows.ts';

/** Rows made between two turns of the event loop. */
const SLICE = 1000;

/** @param bounds of other calls: an aggregation has at least their time */
export function rollupStore(
  reader: WorkerClient<LogReaderCall>,
  { deadlineMs }: Pick<WorkerBounds, 'deadlineMs'>,
): Pick<LogStore, 'aggregate'> {
  return {
    aggregate: async (scope, filter, asked): Promise<LogAggregate> => {
      const aggregation = checkAggregation(asked);
      const checked = checkLogFilter(filter);
      const call = { kind: 'sums', ...scopeOf(scope), filter: checked, aggregation } as const;
      const found = await reader.call<RollupRows>(call, 0, Math.max(deadlineMs, SUMS_MS));
      const rows: LogAggregateRow[] = [];
      for (let row = 0; row < found.buckets.length; row++) {
        if (row > 0 && row % SLICE === 0) await setImmediate();
        const bucket = found.buckets[row] as number;
        const group = found.groups[found.groupOf[row] as number] as readonly string[];
        const rollup = new RowTotals(found, row);
        rows.push(
          found.unique
            ? { bucket, group, rollup, unique: found.unique[row] as number }
            : { bucket, group, rollup },
        );
      }
      return {
        rows,
        groups: found.allGroups,
        ...(found.unique ? { unique: found.allUnique } : {}),
        source: found.source,
      };
    },
  };
}

/** Makes a row's histogram on request: few of thousands of rows are asked for theirs. */
class RowTotals implements LogRollups {
  readonly #found: RollupRows;
  readonly #row: number;
  requests: number;
  successes: number;
  errors: number;
  cost: bigint;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  latencyUs: number;
  cacheHits: number;
  semanticHits: number;
  cacheLatencyUs: number;
  saved: bigint;
  semanticSaved: bigint;
  retried: number;
  rescued: number;
  firstSeen: number;
  lastSeen: number;
  declare readonly firstTokens?: FirstTokens;

  constructor(found: RollupRows, row: number) {
    const { totals } = found;
    const at = row * STRIDE;
    this.#found = found;
    this.#row = row;
    this.requests = totals[at + AT.requests] as number;
    this.successes = totals[at + AT.successes] as number;
    this.errors = totals[at + AT.errors] as number;
    this.cost = moneyAt(found, at + AT.cost);
    this.promptTokens = totals[at + AT.promptTokens] as number;
    this.completionTokens = totals[at + AT.completionTokens] as number;
    this.totalTokens = totals[at + AT.totalTokens] as number;
    this.latencyUs = totals[at + AT.latencyUs] as number;
    this.cacheHits = totals[at + AT.cacheHits] as number;
    this.semanticHits = totals[at + AT.semanticHits] as number;
    this.cacheLatencyUs = totals[at + AT.cacheLatencyUs] as number;
    this.saved = moneyAt(found, at + AT.saved);
    this.semanticSaved = moneyAt(found, at + AT.semanticSaved);
    this.retried = totals[at + AT.retried] as number;
    this.rescued = totals[at + AT.rescued] as number;
    this.firstSeen = totals[at + AT.firstSeen] as number;
    this.lastSeen = totals[at + AT.lastSeen] as number;
    if (found.firstTokens !== null) this.firstTokens = firstTokensAt(found.firstTokens, row);
  }

  get latencies(): Map<number, number> {
    // Made on every request: keeping hundreds of them to the end of an answer would burden the garbage collector.
    const latencies = new Map<number, number>();
    this.histogram.forEach((count, bucket) => void latencies.set(bucket, count));
    return latencies;
  }

  get histogram(): Histogram {
    const { latencies } = this.#found;
    return latencies === null ? NOTHING : histogramAt(latencies, this.#row);
  }
}

const NOTHING: Histogram = { forEach() {} };

function histogramAt({ starts, buckets, counts }: PackedHistograms, row: number): Histogram {
  return {
    forEach(each) {
      const until = starts[row + 1] as number;
      for (let at = starts[row] as number; at < until; at++)
        each(counts[at] as number, buckets[at] as number);
    },
  };
}

function firstTokensAt({ calls, us, unknown, times }: PackedFirstTokens, row: number): FirstTokens {
  return {
    calls: calls[row] as number,
    us: us[row] as number,
    unknown: unknown[row] as number,
    get times() {
      const map = new Map<number, number>();
      histogramAt(times, row).forEach((count, bucket) => void map.set(bucket, count));
      return map;
    },
  };
}

function moneyAt({ totals, large }: RollupRows, place: number): bigint {
  const amount = totals[place] as number;
  const more = large.size === 0 ? undefined : large.get(place);
  if (more !== undefined) return more + BigInt(amount);
  return amount === 0 ? 0n : BigInt(amount);
}
