// A histogram's numbers, counted by hand: an observation is on the way of every call.

/**
 * Bounds of durations in seconds and of token counts, as the GenAI conventions advise them
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/).
 */
export const DURATION_BOUNDS: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
export const FIRST_TOKEN_BOUNDS: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
export const TOKEN_BOUNDS: readonly number[] = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** A call that an observation is of, by ids of which none is a caller's text on a page that anybody reads. */
export interface Exemplar {
  /** Made by the gateway. */
  readonly requestId: string;
  /** Possibly the caller's. */
  readonly traceId: string;
  readonly value: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

/** Observations by bucket. */
export class Distribution {
  /** Upper bounds, inclusive. */
  readonly bounds: readonly number[];
  /** Per bucket, not cumulated; the last is for what is above all bounds. */
  readonly counts: number[];
  /** Per bucket, the newest observation's. */
  exemplars: (Exemplar | undefined)[] | undefined;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number, exemplar?: Exemplar): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    counts[bucket]!++;
    this.sum += value;
    this.count++;
    if (exemplar === undefined) return;
    this.exemplars ??= new Array<Exemplar | undefined>(counts.length).fill(undefined);
    this.exemplars[bucket] = exemplar;
  }
}

/** Distributions of the same bounds as one. */
export function sumOf(all: readonly Distribution[]): Distribution {
  const total = new Distribution(all[0]?.bounds ?? []);
  for (const { counts, sum, count } of all) {
    for (const [i, observed] of counts.entries()) total.counts[i]! += observed;
    total.sum += sum;
    total.count += count;
  }
  return total;
}
