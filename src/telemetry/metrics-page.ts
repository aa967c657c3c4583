// The metrics of one process or of several as a page in Prometheus' text format or in OpenMetrics.
import type { MetricObject, Registry, RegistryContentType } from 'prom-client';
import type { Exemplar } from './distribution.ts';
import type { Aggregation, Family, Sample } from './family.ts';

/** A family with its samples, as processes send it to each other: JSON. */
export interface FamilyValues {
  readonly name: string;
  readonly help: string;
  readonly type: Family['type'];
  readonly aggregation: Aggregation;
  readonly restricted: boolean;
  readonly values: readonly Sample[];
}

/** A page and its content type. */
export interface MetricsPage {
  readonly type: string;
  readonly text: string;
}

/** Who fetches a page: anybody, or an operator, who also sees the restricted families. */
export type Audience = 'anybody' | 'operator';

/** OpenMetrics 1.0 carries exemplars, Prometheus' own text format does not. */
export type Format = 'prometheus' | 'openmetrics';

/** The format that an Accept header asks for: OpenMetrics only where it is named, and not with `q=0`. */
export function formatFor(accept: string | undefined): Format {
  const named = (accept ?? '').split(',').some((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    return type === 'application/openmetrics-text' && !parameters.some((word) => /^q=0(?:\.0*)?$/.test(word));
  });
  return named ? 'openmetrics' : 'prometheus';
}

/** prom-client's names. */
const AGGREGATORS: Readonly<Record<Aggregation, string>> = {
  sum: 'sum',
  max: 'max',
  min: 'min',
  mean: 'average',
};

/** Reads all families once. */
export function readFamilies(families: readonly Family[]): Promise<FamilyValues[]> {
  return Promise.all(
    families.map(async ({ name, help, type, aggregation, restricted = false, samples }) => ({
      name,
      help,
      type,
      aggregation,
      restricted,
      values: await samples(),
    })),
  );
}

/**
 * @param processes the families of each process; samples of the same labels become one, as their family declares, with
 *   the newest exemplar
 */
export async function printPage(
  processes: readonly (readonly FamilyValues[])[],
  audience: Audience,
  format: Format = 'prometheus',
): Promise<MetricsPage> {
  const openMetrics = format === 'openmetrics';
  const shown = processes.map((families) =>
    families
      .filter(({ restricted }) => audience === 'operator' || !restricted)
      .map(({ aggregation, restricted: _, ...family }) => ({
        ...family,
        // In OpenMetrics a counter's family has no suffix. The library adds it to the samples.
        name: openMetrics && family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name,
        aggregator: AGGREGATORS[aggregation],
      })),
  );
  const { AggregatorRegistry, openMetricsContentType } = (await import('prom-client')).default;
  const registry: Registry<RegistryContentType> = AggregatorRegistry.aggregate(
    shown as unknown as MetricObject[],
  );
  if (openMetrics) {
    registry.setContentType(openMetricsContentType);
    addExemplars(registry, processes, audience);
  }
  return { type: registry.contentType, text: await registry.metrics() };
}

/** What prom-client prints of a sample. */
interface Printed {
  readonly metricName?: string;
  readonly labels: Sample['labels'];
  exemplar?: { readonly labelSet: Sample['labels']; readonly value: number; readonly timestamp: number };
}

/** The library drops exemplars when it aggregates: the newest of each sample is put back. */
function addExemplars(
  registry: Registry<RegistryContentType>,
  processes: readonly (readonly FamilyValues[])[],
  audience: Audience,
): void {
  const newest = new Map<string, Exemplar>();
  for (const families of processes)
    for (const { name, values } of families)
      for (const { metricName = name, labels, exemplar } of values) {
        if (exemplar === undefined) continue;
        const key = keyOf(metricName, labels);
        if ((newest.get(key)?.timestamp ?? 0) < exemplar.timestamp) newest.set(key, exemplar);
      }
  const metrics = registry.getMetricsAsArray() as unknown as readonly {
    readonly values: readonly Printed[];
  }[];
  for (const { values } of metrics)
    for (const sample of values) {
      const exemplar =
        sample.metricName === undefined ? undefined : newest.get(keyOf(sample.metricName, sample.labels));
      if (exemplar === undefined) continue;
      const { value, timestamp } = exemplar;
      sample.exemplar = { labelSet: labelSetOf(exemplar, audience), value, timestamp };
    }
}

function keyOf(name: string, labels: Sample['labels']): string {
  return `${name} ${JSON.stringify(labels)}`;
}

/** A trace id may be the caller's own text: only operators see it, and only in a form that fits (128 characters in all). */
function labelSetOf({ requestId, traceId }: Exemplar, audience: Audience): Sample['labels'] {
  return audience === 'operator' && /^[\w.:-]{1,64}$/.test(traceId)
    ? { trace_id: traceId, request_id: requestId }
    : { request_id: requestId };
}
