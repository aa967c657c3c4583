// How long calls took, as a Prometheus histogram. The library's own hashes its labels at
// every observation, on the way of every call; here a series is found once per call by
// operation and status, and the library only prints.
import type { Histogram } from 'prom-client';

/** Seconds; from cached answers to long generations. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const NAME = 'sluice_call_duration_seconds';
const HELP = 'Time from the arrival of a call to the end of its answer, by operation and HTTP status';

interface Series {
  readonly operation: string;
  readonly status: string;
  /** Observations per bucket, not cumulated; the last is for what is longer than all. */
  readonly counts: number[];
  sum: number;
}

/** The histogram: observe on one side, a metric of prom-client's registry on the other. */
export class CallDurations {
  readonly #byOperation = new Map<string, Map<number, Series>>();

  observe(operation: string, status: number, seconds: number): void {
    const series = this.#series(operation, status);
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.sum += seconds;
  }

  /** For Registry.registerMetric, which asks a metric for its name and its values and nothing else. */
  asMetric(): Histogram {
    const get = () => ({
      name: NAME,
      help: HELP,
      type: 'histogram',
      aggregator: 'sum',
      values: this.#values(),
    });
    return { name: NAME, help: HELP, get } as unknown as Histogram;
  }

  #series(operation: string, status: number): Series {
    let byStatus = this.#byOperation.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#byOperation.set(operation, byStatus);
    }
    let series = byStatus.get(status);
    if (series === undefined) {
      series = {
        operation,
        status: String(status),
        counts: new Array<number>(BUCKETS.length + 1).fill(0),
        sum: 0,
      };
      byStatus.set(status, series);
    }
    return series;
  }

  #values() {
    const all = [...this.#byOperation.values()].flatMap((byStatus) => [...byStatus.values()]);
    return all.flatMap(({ operation, status, counts, sum }) => {
      let count = 0;
      const labels = { operation, status };
      const buckets = [...BUCKETS, Number.POSITIVE_INFINITY].map((le, i) => {
        count += counts[i]!;
        return {
          metricName: `${NAME}_bucket`,
          labels: { ...labels, le: Number.isFinite(le) ? le : '+Inf' },
          value: count,
        };
      });
      return [
        ...buckets,
        { metricName: `${NAME}_sum`, labels, value: sum },
        { metricName: `${NAME}_count`, labels, value: count },
      ];
    });
  }
}
