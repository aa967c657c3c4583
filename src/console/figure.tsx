// A figure: its sum, its course over time in one line or several, and the same as a table.
import { signal } from '@preact/signals';
import { useEffect, useId, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { moment } from './figures.ts';
import { entriesHref, NOT_OF_THE_LOG } from './log-query.ts';
import { Table } from './parts.tsx';
import { ask, query } from './router.ts';

export interface Point {
  /** ISO 8601. */
  readonly at: string;
  /** Null: nothing was measured. */
  readonly value: number | null;
  readonly text: string;
}

/** Members of an address. */
type Members = Readonly<Record<string, string>>;

/** One of several courses; all have the same times. */
export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
  /** What leads to its entries alone; undefined: the log has no filter for them. */
  readonly filter?: Members | undefined;
}

/** ISO 8601; what is before or after it counts in no value. */
export interface Times {
  readonly timeOfGenerationMin: string;
  readonly timeOfGenerationMax: string;
}

interface FigureProps {
  readonly name: string;
  readonly sum: string;
  /** The sum of the period before. */
  readonly former?: string | undefined;
  /** Leads to the entries that the sum is of. */
  readonly link?: string | undefined;
  /** Leads to those of the period before. */
  readonly formerLink?: string | undefined;
  readonly points: readonly Point[];
  readonly filter: Members;
  readonly times: Times;
}

export function Figure({ name, sum, former, link, formerLink, points, filter, times }: FigureProps) {
  const id = useId();
  const lines = useMemo(() => [{ name, points, filter }], [name, points, filter]);
  const isTable = isTabled(name);
  return (
    <figure aria-labelledby={id}>
      <figcaption>
        <span id={id} class="name">
          {name}
        </span>
        <span class="sum">
          {link === undefined ? sum : <a href={link}>{sum}</a>}
          {former !== undefined && (
            <span class="hint">
              {' '}
              before: {formerLink === undefined ? former : <a href={formerLink}>{former}</a>}
            </span>
          )}
        </span>
        <TableButton name={name} />
      </figcaption>
      {isTable ? <Values name={name} lines={lines} times={times} /> : <Chart lines={lines} />}
    </figure>
  );
}

interface CoursesProps {
  readonly name: string;
  readonly lines: readonly Line[];
  readonly times: Times;
}

/** What the address calls the table of several courses. */
const COURSES = 'Courses';

/** Several courses over the same times, told apart by their lines. */
export function Courses({ name, lines, times }: CoursesProps) {
  return (
    <div class="courses">
      <p class="actions">
        {name}
        <TableButton name={COURSES} />
      </p>
      <ul class="chips legend">
        {lines.map((line, i) => (
          <li key={i} class={`line-${i}`}>
            <bdi>{line.name.slice(0, 60)}</bdi>
          </li>
        ))}
      </ul>
      {isTabled(COURSES) ? <Values name={name} lines={lines} times={times} /> : <Chart lines={lines} />}
    </div>
  );
}

/** Whether the address shows the figure as a table. */
function isTabled(name: string): boolean {
  return (query.value.get('tables') ?? '').split(',').includes(name);
}

function TableButton({ name }: { readonly name: string }) {
  const isTable = isTabled(name);
  const toggle = (): void => {
    const shown = (query.value.get('tables') ?? '').split(',').filter((one) => one !== '');
    ask({ tables: (isTable ? shown.filter((one) => one !== name) : [...shown, name]).join(',') }, true);
  };
  return (
    <button type="button" aria-pressed={isTable} onClick={toggle}>
      Table
    </button>
  );
}

interface ValuesProps {
  readonly name: string;
  readonly lines: readonly Line[];
  readonly times: Times;
}

function Values({
  name,
  lines,
  times: { timeOfGenerationMin: first, timeOfGenerationMax: last },
}: ValuesProps) {
  const points = lines[0]?.points ?? [];
  const kept = points.flatMap(({ at }, i) =>
    lines.some((line) => line.points[i]?.value) ? [{ at, i }] : [],
  );
  const linkOf = (i: number, filter: Members): string =>
    entriesHref({
      ...NOT_OF_THE_LOG,
      ...filter,
      from: Date.parse(points[i]?.at ?? first) < Date.parse(first) ? first : (points[i]?.at ?? first),
      to: Date.parse(points[i + 1]?.at ?? last) > Date.parse(last) ? last : (points[i + 1]?.at ?? last),
    });
  const isOne = lines.length === 1;
  return (
    <Table
      label={`${name} over time`}
      columns={['Time', ...lines.map((line) => line.name)]}
      rows={kept.map(({ at, i }) => [
        <a key="at" href={linkOf(i, (isOne && lines[0]?.filter) || {})}>
          {moment(at)}
        </a>,
        ...lines.map(({ points: own, filter }) => {
          const text = own[i]?.text ?? '';
          return isOne || filter === undefined || !own[i]?.value ? (
            text
          ) : (
            <a href={linkOf(i, filter)}>{text}</a>
          );
        }),
      ])}
      empty="Nothing in this time."
    />
  );
}

const HEIGHT = 150;
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** Room for the longest number at an axis. */
function widthOf(_: uPlot, texts: readonly string[] | null): number {
  return Math.max(54, 20 + 7 * Math.max(0, ...(texts ?? []).map((text) => text.length)));
}

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
        axes: [
          axis,
          { ...axis, size: widthOf, values: (_, ticks) => ticks.map((tick) => SHORT.format(tick)) },
        ],
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
