// A metric's family as prom-client's registry prints it: the library asks what is registered for these members and
// for nothing else.
import type { Distribution } from './distribution.ts';

/** One line of a family. */
export interface Sample {
  /** The family's own when absent. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface Family {
  /** With its unit, and `_total` where it is a counter. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Read when somebody scrapes. */
  readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/** The lines of one histogram, its buckets cumulated. */
export function histogramSamples(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum, count }: Distribution,
): Sample[] {
  const samples: Sample[] = [];
  let below = 0;
  for (const [i, bound] of bounds.entries()) {
    below += counts[i]!;
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: below });
  }
  samples.push(
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  );
  return samples;
}

/** One number without labels. */
export function single(
  name: string,
  help: string,
  type: 'counter' | 'gauge',
  read: () => number | Promise<number>,
): Family {
  return { name, help, type, samples: async () => [{ labels: {}, value: await read() }] };
}

/** Numbers by one label. */
export function byLabel(
  name: string,
  help: string,
  label: string,
  counts: () => Iterable<readonly [string, number]>,
): Family {
  return {
    name,
    help,
    type: 'counter',
    samples: () => [...counts()].map(([word, value]) => ({ labels: { [label]: word }, value })),
  };
}
