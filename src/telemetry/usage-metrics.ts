// The series of model calls as OTLP carries them: the histograms of the GenAI conventions, cumulative since the start.
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { type Distribution, sumOf } from './distribution.ts';
import { operationNameOf, providerNameOf } from './gen-ai-names.ts';
import type { AttemptSeries, UsageSeries } from './usage-series.ts';

type Point = readonly [Attributes, Distribution];

/** Produces the metrics when the reader asks. */
export function usageProducer(
  usage: UsageSeries,
  resource: ResourceMetrics['resource'],
  scope: { readonly name: string; readonly version: string },
): MetricProducer {
  const start = secondsOf(usage.since);
  return {
    async collect() {
      const end = secondsOf(Date.now());
      const metric = (name: string, description: string, unit: string, read: (s: AttemptSeries) => Point[]) =>
        histogram({ name, description, unit, valueType: ValueType.DOUBLE }, usage.attempts().flatMap(read), [
          start,
          end,
        ]);
      const metrics = [
        metric('gen_ai.client.operation.duration', 'GenAI operation duration.', 's', (series) => [
          [attributesOf(series), series.durations],
        ]),
        metric(
          'gen_ai.client.token.usage',
          'Number of input and output tokens used.',
          '{token}',
          tokenPoints,
        ),
        metric(
          'gen_ai.server.time_to_first_token',
          'Time to generate first token for successful responses.',
          's',
          (series) =>
            series.firstTokens === undefined || series.labels.error !== ''
              ? []
              : [[attributesOf(series), series.firstTokens]],
        ),
      ].filter(({ dataPoints }) => dataPoints.length > 0);
      const scopeMetrics = metrics.length === 0 ? [] : [{ scope, metrics }];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
}

function attributesOf({ labels, mode }: AttemptSeries): Attributes {
  const { operation, provider, model, error } = labels;
  return {
    'gen_ai.operation.name': operationNameOf(operation, mode),
    'gen_ai.provider.name': providerNameOf(provider),
    ...(model === '' ? {} : { 'gen_ai.request.model': model }),
    ...(error === '' ? {} : { 'error.type': error }),
  };
}

/** The convention counts tokens without an error's type: they were used whatever became of the call. */
function tokenPoints(series: AttemptSeries): Point[] {
  const { 'error.type': _, ...attributes } = attributesOf(series);
  const points: Point[] = [];
  if (series.input) points.push([{ ...attributes, 'gen_ai.token.type': 'input' }, series.input]);
  if (series.output) points.push([{ ...attributes, 'gen_ai.token.type': 'output' }, series.output]);
  return points;
}

function histogram(
  descriptor: MetricData['descriptor'],
  points: readonly Point[],
  [startTime, endTime]: readonly [HrTime, HrTime],
): MetricData & { dataPointType: DataPointType.HISTOGRAM } {
  return {
    descriptor,
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: merged(points).map(([attributes, { bounds, counts, sum, count }]) => ({
      startTime,
      endTime,
      attributes,
      value: { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count },
    })),
  };
}

/** Points of the same attributes as one: several of our operations have the same name there. */
function merged(points: readonly Point[]): readonly Point[] {
  const byKey = new Map<string, { attributes: Attributes; all: Distribution[] }>();
  for (const [attributes, distribution] of points) {
    const key = JSON.stringify(attributes);
    const found = byKey.get(key);
    if (found) found.all.push(distribution);
    else byKey.set(key, { attributes, all: [distribution] });
  }
  return [...byKey.values()].map(
    ({ attributes, all }): Point => [attributes, all.length === 1 ? all[0]! : sumOf(all)],
  );
}

function secondsOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
