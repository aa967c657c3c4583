// The process and its stores, under the names that Prometheus' client libraries give them.
import { counter, type Family, gauge } from './family.ts';

/** What the process uses. */
export function processFamilies(): Family[] {
  const startedAt = Date.now() / 1000 - process.uptime();
  return [
    gauge('sluice_resident_memory_bytes', 'Resident memory of the process', 'sum', () =>
      process.memoryUsage.rss(),
    ),
    counter('process_cpu_seconds_total', 'Processor time of the process, of all threads', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    // The latest: counters restart when one of several processes does.
    gauge('process_start_time_seconds', 'When the process started, in Unix seconds', 'max', () => startedAt),
  ];
}

/** Stores by what they are for, and whether each answers; asked at every scrape, within its own bound. */
export function storeFamily(stores: Readonly<Record<string, () => Promise<boolean>>>): Family {
  return {
    name: 'sluice_store_up',
    help: 'Whether a store answers: 1, or 0',
    type: 'gauge',
    labels: ['store'],
    // One process that cannot reach the store shows.
    aggregation: 'min',
    samples: () =>
      Promise.all(
        Object.entries(stores).map(async ([store, ready]) => ({
          labels: { store },
          value: (await ready()) ? 1 : 0,
        })),
      ),
  };
}
