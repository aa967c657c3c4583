// A figure: its sum, its course over time, and the same as a table.
import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { moment } from './figures.ts';
import { Table } from './parts.tsx';

export interface Point {
  /** ISO 8601. */
  readonly at: string;
  readonly value: number;
  readonly text: string;
}

interface FigureProps {
  readonly name: string;
  readonly sum: string;
  readonly points: readonly Point[];
  /** Length of a stretch. */
  readonly seconds: number;
}

export function Figure({ name, sum, points }: FigureProps) {
  const id = useId();
  const isTable = useSignal(false);
  return (
    <figure aria-labelledby={id}>
      <figcaption>
        <span id={id} class="name">
          {name}
        </span>
        <span class="sum">{sum}</span>
        <button
          type="button"
          aria-pressed={isTable.value}
          onClick={() => {
            isTable.value = !isTable.value;
          }}
        >
          Table
        </button>
      </figcaption>
      {isTable.value ? (
        <Table
          label={`${name} over time`}
          columns={['Time', name]}
          rows={points.filter(({ value }) => value !== 0).map(({ at, text }) => [moment(at), text])}
          empty="Nothing in this time."
        />
      ) : (
        <Chart name={name} points={points} />
      )}
    </figure>
  );
}

const HEIGHT = 150;

function Chart({ name, points }: { readonly name: string; readonly points: readonly Point[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue('--ink-2');
    const line = style.getPropertyValue('--accent');
    const grid = { stroke: style.getPropertyValue('--line'), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: '11px system-ui, sans-serif' };
    const data: uPlot.AlignedData = [
      points.map(({ at }) => Date.parse(at) / 1000),
      points.map(({ value }) => value),
    ];
    const plot = new uPlot(
      {
        width: element.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        axes: [axis, { ...axis, size: 54 }],
        series: [
          {},
          { label: name, stroke: line, width: 2, fill: `${line}22`, points: { show: points.length < 2 } },
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
  }, [points, name]);
  return <div class="chart" ref={place} aria-hidden="true" />;
}
