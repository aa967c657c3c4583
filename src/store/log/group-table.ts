// Merges partial roll-ups, from any source, into the rows of an aggregation.
import type { LogAggregate, LogAggregateRow, LogAggregation, LogRollups } from './aggregation.ts';
import { addRollup, emptyRollup } from './rollups.ts';

interface Row {
  readonly bucket: number;
  readonly group: readonly string[];
  readonly rollup: LogRollups;
  readonly values: Set<string> | undefined;
}

/** Roll-ups by bucket and group. */
export class GroupTable {
  readonly #aggregation: LogAggregation;
  readonly #rows = new Map<string, Row>();
  readonly #distinct = new Set<string>();

  constructor(aggregation: LogAggregation) {
    this.#aggregation = aggregation;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Whether histograms of latencies are requested. */
  get latencies(): boolean {
    return this.#aggregation.latencies !== false;
  }

  /** Whether times to first token are requested. */
  get firstTokens(): boolean {
    return this.#aggregation.firstTokens === true;
  }

  /** Distinct values of `unique` so far. */
  get distinct(): number {
    return this.#distinct.size;
  }

  /** Adds a roll-up; the time of creation selects the bucket. */
  add(createdAt: number, group: readonly string[], rollup: LogRollups): void {
    addRollup(this.#row(createdAt, group).rollup, rollup);
  }

  /** Counts a value of `unique` in; '' is none. */
  addUnique(createdAt: number, group: readonly string[], value: string): void {
    if (value === '') return;
    this.#row(createdAt, group).values?.add(value);
    this.#distinct.add(value);
  }

  #row(createdAt: number, group: readonly string[]): Row {
    const { bucketMs, unique, firstTokens } = this.#aggregation;
    const bucket = bucketMs === undefined ? 0 : Math.floor(createdAt / bucketMs) * bucketMs;
    const key = rowKey(bucket, group);
    let row = this.#rows.get(key);
    if (row === undefined) {
      const rollup = emptyRollup(firstTokens);
      row = { bucket, group, rollup, values: unique === undefined ? undefined : new Set() };
      this.#rows.set(key, row);
    }
    return row;
  }

  /** The rows in the requested order. */
  result(source: LogAggregate['source']): LogAggregate {
    const { bucketMs, unique, skip = 0, take } = this.#aggregation;
    const rows = [...this.#rows.values()]
      .map(({ values, ...row }) => (values === undefined ? row : { ...row, unique: values.size }))
      .sort(comparison(this.#aggregation));
    const groups =
      bucketMs === undefined ? rows.length : new Set(rows.map(({ group }) => rowKey(0, group))).size;
    return {
      rows: bucketMs === undefined ? rows.slice(skip, take === undefined ? undefined : skip + take) : rows,
      groups,
      ...(unique === undefined ? {} : { unique: this.#distinct.size }),
      source,
    };
  }
}

/** One text for each bucket and group: the first value's length keeps two values apart. */
function rowKey(bucket: number, group: readonly string[]): string {
  const [first = '', second] = group;
  return second === undefined ? `${bucket} ${first}` : `${bucket} ${first.length} ${first}${second}`;
}

function comparison({ bucketMs, order }: LogAggregation): (a: LogAggregateRow, b: LogAggregateRow) => number {
  const { measure, direction } = order ?? { measure: 'requests', direction: 'desc' };
  const sign = direction === 'asc' ? 1 : -1;
  return (a, b) => {
    if (bucketMs !== undefined) return a.bucket - b.bucket || byGroup(a, b);
    if (measure === 'group') return sign * byGroup(a, b);
    const [x, y] = [a.rollup[measure], b.rollup[measure]];
    return x < y ? -sign : x > y ? sign : byGroup(a, b);
  };
}

function byGroup(a: LogAggregateRow, b: LogAggregateRow): number {
  const [x, y] = [a.group.join('\0'), b.group.join('\0')];
  return x < y ? -1 : x > y ? 1 : 0;
}
