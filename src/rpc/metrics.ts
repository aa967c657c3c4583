// Counts of calls, for Prometheus and for the bound on calls in flight.
import { Gauge, Registry } from 'prom-client';
import { CallDurations } from './call-durations.ts';
import type { CallObserver } from './interceptors/trace.ts';

/** What else is shown: read when asked. */
export interface GaugeSource {
  readonly name: string;
  readonly help: string;
  readonly read: () => number;
}

/** The observer of all calls, and what it saw. */
export interface Metrics extends CallObserver {
  readonly inFlight: number;
  /** Whether another call would be one too many. */
  readonly full: () => boolean;
  readonly render: () => Promise<{ type: string; text: string }>;
}

export function createMetrics(
  maxInFlight: number | undefined,
  books: Pick<CallObserver, 'record' | 'complete'>,
  gauges: readonly GaugeSource[],
): Metrics {
  const registry = new Registry();
  const durations = new CallDurations();
  registry.registerMetric(durations.asMetric());
  let inFlight = 0;
  const most = maxInFlight ?? Number.POSITIVE_INFINITY;
  const sources: readonly GaugeSource[] = [
    { name: 'sluice_calls_in_flight', help: 'Calls that have begun and not ended', read: () => inFlight },
    {
      name: 'sluice_resident_memory_bytes',
      help: 'Resident memory of the process',
      read: () => process.memoryUsage.rss(),
    },
    ...gauges,
  ];
  for (const { name, help, read } of sources) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }
  return {
    get inFlight() {
      return inFlight;
    },
    full: () => inFlight >= most,
    begin() {
      if (inFlight >= most) return false;
      inFlight++;
      return true;
    },
    end(operation, status, ms) {
      inFlight--;
      durations.observe(operation, status, ms / 1000);
    },
    record: books.record,
    complete: books.complete,
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
