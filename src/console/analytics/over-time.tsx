// One measure over time by group: the largest groups, and the rest of them together.
import { useMemo } from 'preact/hooks';
import {
  AnalyticsGraphsService,
  type GroupedGraph,
  type MeasuredValue,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { client } from '../api.ts';
import { Courses, type Line } from '../figure.tsx';
import { duration, whole } from '../figures.ts';
import { useNames } from '../names.ts';
import { Alert, Choice, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';
import { filterOf } from './groups.ts';
import { groupingOf, type Range } from './read.ts';

const MEASURES = [
  ['requests', 'Requests'],
  ['cost', 'Cost'],
  ['tokens', 'Tokens'],
  ['input_tokens', 'Tokens in'],
  ['output_tokens', 'Tokens out'],
  ['errors', 'Errors'],
  ['avg_latency', 'Mean latency'],
  ['p95_latency', '95th percentile of latency'],
  ['avg_time_to_first_token', 'Mean time to first token'],
  ['p50_time_to_first_token', 'Median time to first token'],
  ['p95_time_to_first_token', '95th percentile of time to first token'],
  ['p99_time_to_first_token', '99th percentile of time to first token'],
] as const;
const TOP = 5;

interface OverTimeProps {
  /** The address' filters and grouping. */
  readonly asked: string;
  readonly range: Range;
}

export function OverTime({ asked, range }: OverTimeProps) {
  const measure = query.value.get('measure') ?? 'requests';
  const by = groupingOf(query.value);
  const { value, error } = useLoaded(`over time ${asked} ${measure}`, (signal) =>
    client(AnalyticsGraphsService).getGroupedGraph({ ...range, measure, groupBy: by, top: TOP }, { signal }),
  );
  const nameOf = useNames(by === 'api_key');
  const lines = useMemo(
    () =>
      (value === undefined ? [] : linesOf(value, measure, by)).map((line) => ({
        ...line,
        name: nameOf(line.name),
      })),
    [value, measure, nameOf],
  );
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
      {value !== undefined && isToken(measure) && <Coverage graph={value} />}
      {value !== undefined && value.groups.length > 0 && (
        <Courses name={`${name} by ${by.replace('metadata.', '')}`} lines={lines} times={range} />
      )}
    </section>
  );
}

function isToken(measure: string): boolean {
  return measure.endsWith('time_to_first_token');
}

/** Of how many calls the times are, and how many they may lack. */
function Coverage({ graph: { dataPoints } }: { readonly graph: GroupedGraph }) {
  const all = dataPoints.flatMap(({ measured, measuredRest }) => [
    ...measured,
    ...(measuredRest ? [measuredRest] : []),
  ]);
  const sum = (read: (value: MeasuredValue) => bigint): bigint =>
    all.reduce((total, one) => total + read(one), 0n);
  const unknown = sum(({ unknownCalls }) => unknownCalls);
  return (
    <p class="hint" role="status">
      Of {whole(sum(({ calls }) => calls))} streamed calls.
      {unknown > 0n &&
        ` ${whole(unknown)} calls were stored by a version that did not keep this time: it is not known of them.`}
    </p>
  );
}

function linesOf({ groups, dataPoints }: GroupedGraph, measure: string, by: string): readonly Line[] {
  const text = (value: number): string => {
    // To the last digit that prices have.
    if (measure === 'cost') return `$${(value / 100).toFixed(12).replace(/\.?0+$/, '')}`;
    return measure.endsWith('latency') || isToken(measure) ? duration(value) : whole(value);
  };
  const line = (
    name: string,
    read: (point: GroupedGraph['dataPoints'][number]) => number | undefined,
    group?: string,
  ): Line => ({
    name,
    filter: group === undefined ? undefined : filterOf(by, group),
    points: dataPoints.map((point) => {
      const value = read(point);
      return { at: point.timestamp, value: value ?? null, text: value === undefined ? '' : text(value) };
    }),
  });
  if (isToken(measure)) {
    const tokens = groups.map((group, i) =>
      line(group || '(none)', ({ measured }) => measured[i]?.value, group),
    );
    const isMore = dataPoints.some(({ measuredRest }) => measuredRest?.value !== undefined);
    return isMore ? [...tokens, line('all others', ({ measuredRest }) => measuredRest?.value)] : tokens;
  }
  const lines = groups.map((group, i) => line(group || '(none)', ({ values }) => values[i] ?? 0, group));
  const hasRest = dataPoints.some(({ rest }) => rest !== 0);
  return hasRest ? [...lines, line('all others', ({ rest }) => rest)] : lines;
}
