// The process and its stores, under the names that Prometheus' client libraries give them.
import { type Family, single } from './family.ts';

/** What the process uses. */
export function processFamilies(): Family[] {
  const startedAt = Date.now() / 1000 - process.uptime();
  return [
    single('sluice_resident_memory_bytes', 'Resident memory of the process', 'gauge', () =>
      process.memoryUsage.rss(),
    ),
    single('process_cpu_seconds_total', 'Processor time of the process, of all threads', 'counter', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    single(
      'process_start_time_seconds',
      'When the process started, in Unix seconds',
      'gauge',
      () => startedAt,
    ),
  ];
}

/** Stores by what they are for, and whether each answers; asked at every scrape, within its own bound. */
export function storeFamily(stores: Readonly<Record<string, () => Promise<boolean>>>): Family {
  return {
    name: 'sluice_store_up',
    help: 'Whether a store answers: 1, or 0',
    type: 'gauge',
    samples: () =>
      Promise.all(
        Object.entries(stores).map(async ([store, ready]) => ({
          labels: { store },
          value: (await ready()) ? 1 : 0,
        })),
      ),
  };
}
