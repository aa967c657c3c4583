// The metrics of one process or of several as a page in Prometheus' text format.
import { AggregatorRegistry, type MetricObject } from 'prom-client';
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

/** @param processes the families of each process; samples of the same labels become one, as their family declares */
export async function printPage(
  processes: readonly (readonly FamilyValues[])[],
  audience: Audience,
): Promise<MetricsPage> {
  const shown = processes.map((families) =>
    families
      .filter(({ restricted }) => audience === 'operator' || !restricted)
      .map(({ aggregation, restricted: _, ...family }) => ({
        ...family,
        aggregator: AGGREGATORS[aggregation],
      })),
  );
  const registry = AggregatorRegistry.aggregate(shown as unknown as MetricObject[]);
  return { type: registry.contentType, text: await registry.metrics() };
}
