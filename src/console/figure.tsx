// A figure: its sum, its course over time in one line or several, and the same as a table.
import { type Signal, signal, useSignal } from '@preact/signals';
import { useEffect, useId, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { moment } from './figures.ts';
import { entriesHref, NOT_OF_THE_LOG } from './log-query.ts';
import { Table } from './parts.tsx';

export interface Point {
  /** ISO 8601. */
  readonly at: string;
  /** Null: nothing was measured. */
  readonly value: number | null;
  readonly text: string;
}

/** One of several courses; all have the same times. */
export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

interface FigureProps {
  readonly name: string;
  readonly sum: string;
  /** The sum of the period before. */
  readonly former?: string | undefined;
  /** Leads to the entries that the sum is of. */
  readonly link?: string | undefined;
  readonly points: readonly Point[];
}

export function Figure({ name, sum, former, link, points }: FigureProps) {
  const id = useId();
  const isTable = useSignal(false);
  const lines = useMemo(() => [{ name, points }], [name, points]);
  return (
    <figure aria-labelledby={id}>
      <figcaption>
        <span id={id} class="name">
          {name}
        </span>
        <span class="sum">
          {link === undefined ? sum : <a href={link}>{sum}</a>}
          {former !== undefined && <span class="hint"> before: {former}</span>}
        </span>
        <TableButton isTable={isTable} />
      </figcaption>
      {isTable.value ? <Values name={name} lines={lines} /> : <Chart lines={lines} />}
    </figure>
  );
}

/** Several courses over the same times, told apart by their lines. */
export function Courses({ name, lines }: { readonly name: string; readonly lines: readonly Line[] }) {
  const isTable = useSignal(false);
  return (
    <div class="courses">
      <p class="actions">
        {name}
        <TableButton isTable={isTable} />
      </p>
      <ul class="chips legend">
        {lines.map((line, i) => (
          <li key={i} class={`line-${i}`}>
            <bdi>{line.name.slice(0, 60)}</bdi>
          </li>
        ))}
      </ul>
      {isTable.value ? <Values name={name} lines={lines} /> : <Chart lines={lines} />}
    </div>
  );
}

function TableButton({ isTable }: { readonly isTable: Signal<boolean> }) {
  return (
    <button
      type="button"
      aria-pressed={isTable.value}
      onClick={() => {
        isTable.value = !isTable.value;
      }}
    >
      Table
    </button>
  );
}

function Values({ name, lines }: { readonly name: string; readonly lines: readonly Line[] }) {
  const times = lines[0]?.points ?? [];
  const kept = times.flatMap(({ at }, i) =>
    lines.some(({ points }) => points[i]?.value) ? [{ at, i }] : [],
  );
  return (
    <Table
      label={`${name} over time`}
      columns={['Time', ...lines.map((line) => line.name)]}
      rows={kept.map(({ at, i }) => [
        <a key="at" href={entriesHref({ ...NOT_OF_THE_LOG, from: at, to: times[i + 1]?.at ?? '' })}>
          {moment(at)}
        </a>,
        ...lines.map(({ points }) => points[i]?.text ?? ''),
      ])}
      empty="Nothing in this time."
    />
  );
}

const HEIGHT = 150;
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** Pictures do not change their colours by themselves. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = signal(dark.matches);
dark.addEventListener('change', ({ matches }) => {
  isDark.value = matches;
});

function Chart({ lines }: { readonly lines: readonly Line[] }) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = isDark.value;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue('--ink-2');
    const grid = { stroke: style.getPropertyValue('--line'), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: '11px system-ui, sans-serif' };
    const times = lines[0]?.points ?? [];
    const data = [
      times.map(({ at }) => Date.parse(at) / 1000),
      ...lines.map(({ points }) => points.map(({ value }) => value)),
    ] as uPlot.AlignedData;
    const plot = new uPlot(
      {
        width: element.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        axes: [axis, { ...axis, size: 54, values: (_, ticks) => ticks.map((tick) => SHORT.format(tick)) }],
        series: [
          {},
          ...lines.map(({ name, points }, i) => {
            const stroke = style.getPropertyValue(`--line-${i}`) || ink;
            const fill = lines.length === 1 ? { fill: `${stroke}22` } : {};
            // A value between gaps has no line.
            const isSparse = times.length < 2 || points.some(({ value }) => value === null);
            return { label: name, stroke, width: 2, ...fill, points: { show: isSparse } };
          }),
        ],
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      },
      data,
      element,
    );
    const sized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [lines, scheme]);
  return <div class="chart" ref={place} aria-hidden="true" />;
}
