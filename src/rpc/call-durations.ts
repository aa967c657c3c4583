// How long calls took, as a Prometheus histogram. The library's own hashes its labels at
// every observation, on the way of every call; here a series is found once per call by
// operation and status, and the library only prints.
import { Distribution } from '../telemetry/distribution.ts';
import { type Family, histogramSamples, type Sample } from '../telemetry/family.ts';

/** Seconds; from cached answers to long generations. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const NAME = 'sluice_call_duration_seconds';
/** Statuses of an operation that are told apart: a provider may answer with any. */
const MOST_STATUSES = 40;

export class CallDurations {
  readonly #byOperation = new Map<string, Map<number, Distribution>>();

  observe(operation: string, status: number, seconds: number): void {
    this.#series(operation, status).observe(seconds);
  }

  family(): Family {
    return {
      name: NAME,
      help: 'Time from the arrival of a call to the end of its answer, by operation and HTTP status',
      type: 'histogram',
      labels: ['operation', 'status'],
      aggregation: 'sum',
      samples: () => this.#samples(),
    };
  }

  #series(operation: string, status: number): Distribution {
    let byStatus = this.#byOperation.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#byOperation.set(operation, byStatus);
    }
    const found = byStatus.get(status);
    if (found !== undefined) return found;
    // What is one too many is counted as its class.
    const own = byStatus.size < MOST_STATUSES ? status : Math.floor(status / 100) * 100;
    const series = byStatus.get(own) ?? new Distribution(BUCKETS);
    byStatus.set(own, series);
    return series;
  }

  #samples(): Sample[] {
    return [...this.#byOperation].flatMap(([operation, byStatus]) =>
      [...byStatus].flatMap(([status, series]) =>
        histogramSamples(NAME, { operation, status: String(status) }, series),
      ),
    );
  }
}
