// The port's part that is about sums, over its worker.
import { setImmediate } from 'node:timers/promises';
import type { LogAggregate, LogAggregateRow, LogSums } from '../../log/aggregation.ts';
import { checkAggregation } from '../../log/aggregation-checks.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { LogStore } from '../../log-store.ts';
import type { WorkerClient } from '../worker-client.ts';
import { AT, STRIDE } from './accumulator.ts';
import type { LogSumRows } from './aggregate-reads.ts';
import { scopeOf } from './entries.ts';
import type { LogReaderCall } from './protocol.ts';

/** Rows made between two turns of the event loop. */
const SLICE = 200;

export function sumsStore(reader: WorkerClient<LogReaderCall>): Pick<LogStore, 'aggregate'> {
  return {
    aggregate: async (scope, filter, asked): Promise<LogAggregate> => {
      const aggregation = checkAggregation(asked);
      const checked = checkLogFilter(filter);
      const found = await reader.call<LogSumRows>({
        ...{ kind: 'sums', ...scopeOf(scope), filter: checked, aggregation },
      });
      const rows: LogAggregateRow[] = [];
      for (let row = 0; row < found.groups.length; row++) {
        if (row > 0 && row % SLICE === 0) await setImmediate();
        rows.push({
          bucket: found.buckets[row] as number,
          group: found.groups[row] ?? [],
          sums: sumsOf(found, row),
          ...(found.unique ? { unique: found.unique[row] as number } : {}),
        });
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

function sumsOf({ sums, money, starts, latencies }: LogSumRows, row: number): LogSums {
  const at = (place: number): number => sums[row * STRIDE + place] as number;
  const histogram = new Map<number, number>();
  for (let pair = starts[row] as number; pair < (starts[row + 1] as number); pair++) {
    histogram.set(latencies[pair * 2] as number, latencies[pair * 2 + 1] as number);
  }
  return {
    requests: at(AT.requests),
    successes: at(AT.successes),
    errors: at(AT.errors),
    cost: money[row * 3] ?? 0n,
    promptTokens: at(AT.promptTokens),
    completionTokens: at(AT.completionTokens),
    totalTokens: at(AT.totalTokens),
    latencyUs: at(AT.latencyUs),
    latencies: histogram,
    cacheHits: at(AT.cacheHits),
    semanticHits: at(AT.semanticHits),
    cacheLatencyUs: at(AT.cacheLatencyUs),
    saved: money[row * 3 + 1] ?? 0n,
    semanticSaved: money[row * 3 + 2] ?? 0n,
    retried: at(AT.retried),
    rescued: at(AT.rescued),
    firstSeen: at(AT.firstSeen),
    lastSeen: at(AT.lastSeen),
  };
}
