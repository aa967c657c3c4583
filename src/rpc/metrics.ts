// Counts of calls, for Prometheus and for the bound on calls in flight.
import { Gauge, Histogram, Registry } from 'prom-client';
import type { RequestRecord } from '../store/request-log.ts';
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

/** Seconds; from cached answers to long generations. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createMetrics(
  maxInFlight: number | undefined,
  record: (entry: RequestRecord) => void,
  gauges: readonly GaugeSource[],
): Metrics {
  const registry = new Registry();
  const duration = new Histogram({
    name: 'sluice_call_duration_seconds',
    help: 'Time from a call’s arrival to the end of its answer, by operation and HTTP status',
    labelNames: ['operation', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
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
  // Hashing labels costs more than observing: each pair's observer is made once.
  const observers = new Map<string, (seconds: number) => void>();
  const observerOf = (operation: string, status: number): ((seconds: number) => void) => {
    const key = `${status} ${operation}`;
    let observe = observers.get(key);
    if (observe === undefined) {
      const child = duration.labels(operation, String(status));
      observe = (seconds) => child.observe(seconds);
      observers.set(key, observe);
    }
    return observe;
  };
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
      observerOf(operation, status)(ms / 1000);
    },
    record,
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
