// One measure over time by group: the largest groups, and the rest of them together.
import { useMemo } from 'preact/hooks';
import {
  AnalyticsGraphsService,
  type GroupedGraph,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { client } from '../api.ts';
import { Courses, type Line } from '../figure.tsx';
import { duration, whole } from '../figures.ts';
import { Alert, Choice, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';
import { groupingOf, rangeOf } from './read.ts';

const MEASURES = [
  ['requests', 'Requests'],
  ['cost', 'Cost'],
  ['tokens', 'Tokens'],
  ['input_tokens', 'Tokens in'],
  ['output_tokens', 'Tokens out'],
  ['errors', 'Errors'],
  ['avg_latency', 'Mean latency'],
  ['p95_latency', '95th percentile of latency'],
] as const;
const TOP = 5;

export function OverTime({ asked }: { readonly asked: string }) {
  const measure = query.value.get('measure') ?? 'requests';
  const by = groupingOf(query.value);
  const { value, error } = useLoaded(`over time ${asked}`, (signal) =>
    client(AnalyticsGraphsService).getGroupedGraph(
      { ...rangeOf(new URLSearchParams(asked)), measure, groupBy: by, top: TOP },
      { signal },
    ),
  );
  const lines = useMemo(() => (value === undefined ? [] : linesOf(value, measure)), [value, measure]);
  const name = MEASURES.find(([known]) => known === measure)?.[1] ?? measure;
  return (
    <section aria-label="Over time">
      <div class="filters">
        <Choice
          label="Measure"
          value={measure}
          options={MEASURES}
          onChange={(one) => ask({ measure: one }, true)}
        />
      </div>
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && value.groups.length > 0 && (
        <Courses name={`${name} by ${by.replace('metadata.', '')}`} lines={lines} />
      )}
    </section>
  );
}

function linesOf({ groups, dataPoints }: GroupedGraph, measure: string): readonly Line[] {
  const text = (value: number): string => {
    if (measure === 'cost') return `$${(value / 100).toFixed(6).replace(/\.?0+$/, '')}`;
    return measure.endsWith('latency') ? duration(value) : whole(value);
  };
  const line = (name: string, read: (point: GroupedGraph['dataPoints'][number]) => number): Line => ({
    name,
    points: dataPoints.map((point) => ({
      at: point.timestamp,
      value: read(point),
      text: text(read(point)),
    })),
  });
  const lines = groups.map((group, i) => line(group || '(none)', ({ values }) => values[i] ?? 0));
  const hasRest = dataPoints.some(({ rest }) => rest !== 0);
  return hasRest ? [...lines, line('all others', ({ rest }) => rest)] : lines;
}
