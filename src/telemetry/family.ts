// A metric's family: its name, how its samples are read, and how the samples of several processes become one.
import type { Distribution, Exemplar } from './distribution.ts';

/** One line of a family. */
export interface Sample {
  /** The family's own when absent. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Shown in OpenMetrics. */
  readonly exemplar?: Exemplar | undefined;
}

/** How samples of the same name and labels, one of each process, become one. */
export type Aggregation = 'sum' | 'max' | 'min' | 'mean';

export interface Family {
  /** With its unit, and `_total` where it is a counter. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The names of its labels; a histogram's `le` is not among them. */
  readonly labels: readonly string[];
  /** Counters and histograms add up. */
  readonly aggregation: Aggregation;
  /** Whether only operators may read it: it is left out of a page that anybody can fetch. */
  readonly restricted?: boolean;
  /** Read at every scrape. */
  readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/** The lines of one histogram, its buckets cumulated. */
export function histogramSamples(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, exemplars, sum, count }: Distribution,
): Sample[] {
  const samples: Sample[] = [];
  let below = 0;
  for (const [i, bound] of bounds.entries()) {
    below += counts[i]!;
    const exemplar = exemplars?.[i];
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: below, exemplar });
  }
  samples.push(
    {
      metricName: `${name}_bucket`,
      labels: { ...labels, le: '+Inf' },
      value: count,
      exemplar: exemplars?.[bounds.length],
    },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  );
  return samples;
}

/** A counter without labels. */
export function counter(name: string, help: string, read: () => number | Promise<number>): Family {
  return { name, help, type: 'counter', labels: [], aggregation: 'sum', samples: () => alone(read) };
}

/** A gauge without labels. */
export function gauge(
  name: string,
  help: string,
  aggregation: Aggregation,
  read: () => number | Promise<number>,
): Family {
  return { name, help, type: 'gauge', labels: [], aggregation, samples: () => alone(read) };
}

async function alone(read: () => number | Promise<number>): Promise<readonly Sample[]> {
  return [{ labels: {}, value: await read() }];
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
    labels: [label],
    aggregation: 'sum',
    samples: () => [...counts()].map(([word, value]) => ({ labels: { [label]: word }, value })),
  };
}
