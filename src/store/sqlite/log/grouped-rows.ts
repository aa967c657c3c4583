// Rows of a segment with their groups, and what is added up over them: a column at a time, as it is kept.
import type { PackedNumbers, PackedValues } from './number-column.ts';
import type { RowFlags } from './row-classes.ts';
import type { Scratch } from './segment.ts';

/** Consecutive rows of one group: from one position in the list of rows to another. */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly group: number;
}

/** Rows rise; each is in a group. */
export interface GroupedRows {
  readonly rows: Uint16Array;
  readonly count: number;
  /** Each row's group; where there are runs, these say it. */
  readonly groups: Int32Array;
  readonly runs: readonly Run[] | undefined;
}

/** Adds a column's numbers to the totals of their groups. */
export function addNumbers(
  totals: Float64Array,
  grouped: GroupedRows,
  { values, least }: PackedNumbers,
): void {
  const { rows, count, groups, runs } = grouped;
  if (values === undefined) {
    if (least !== 0) addCounts(totals, grouped, least);
    return;
  }
  if (runs === undefined) {
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      totals[group] = (totals[group] as number) + (values[rows[i] as number] as number) + least;
    }
    return;
  }
  for (const { from, to, group } of runs) {
    const sum = sumOf(values, rows, from, to) + least * (to - from);
    totals[group] = (totals[group] as number) + sum;
  }
}

/** Adds a number to the total of its group for each row. */
export function addCounts(totals: Float64Array, { count, groups, runs }: GroupedRows, each: number): void {
  if (runs === undefined) {
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      totals[group] = (totals[group] as number) + each;
    }
    return;
  }
  for (const { from, to, group } of runs) totals[group] = (totals[group] as number) + (to - from) * each;
}

function sumOf(values: PackedValues, rows: Uint16Array, from: number, to: number): number {
  const first = rows[from] as number;
  if ((rows[to - 1] as number) - first === to - 1 - from) return sumBetween(values, first, first + to - from);
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[rows[i] as number] as number;
  return sum;
}

/** Four accumulators: additions do not wait for one another. */
function sumBetween(values: PackedValues, from: number, to: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let row = from;
  for (; row + 3 < to; row += 4) {
    a += values[row] as number;
    b += values[row + 1] as number;
    c += values[row + 2] as number;
    d += values[row + 3] as number;
  }
  for (; row < to; row++) a += values[row] as number;
  return a + b + (c + d);
}

/** The sum of a column's first numbers. */
export function totalOf({ values, least }: PackedNumbers, count: number): number {
  return least * count + (values === undefined ? 0 : sumBetween(values, 0, count));
}

/** A column of a segment, and the totals that it is added to. */
export interface Addend {
  readonly totals: Float64Array;
  readonly numbers: PackedNumbers;
}

/**
 * Adds up five columns at once, and counts rows: where groups are few each addition waits for the one before it, and
 * those of the other columns are done meanwhile.
 */
export function addTogether(
  { rows, count, groups }: GroupedRows,
  requests: Float64Array,
  [a, b, c, d, e]: readonly [Addend, Addend, Addend, Addend, Addend],
  zeros: Uint8Array,
): void {
  const [as, bs, cs, ds, es] = [a.totals, b.totals, c.totals, d.totals, e.totals];
  const [an, bn, cn, dn, en] = [a.numbers, b.numbers, c.numbers, d.numbers, e.numbers];
  const av = an.values ?? zeros;
  const bv = bn.values ?? zeros;
  const cv = cn.values ?? zeros;
  const dv = dn.values ?? zeros;
  const ev = en.values ?? zeros;
  const [al, bl, cl, dl, el] = [an.least, bn.least, cn.least, dn.least, en.least];
  for (let i = 0; i < count; i++) {
    const group = groups[i] as number;
    const row = rows[i] as number;
    requests[group] = (requests[group] as number) + 1;
    as[group] = (as[group] as number) + (av[row] as number) + al;
    bs[group] = (bs[group] as number) + (bv[row] as number) + bl;
    cs[group] = (cs[group] as number) + (cv[row] as number) + cl;
    ds[group] = (ds[group] as number) + (dv[row] as number) + dl;
    es[group] = (es[group] as number) + (ev[row] as number) + el;
  }
}

/** Counts the rows whose number in a column is flagged. */
export function addFlagged(
  totals: Float64Array,
  { rows, count, groups, runs }: GroupedRows,
  { ids, flags }: RowFlags,
): void {
  if (runs === undefined) {
    for (let i = 0; i < count; i++) {
      if (flags[ids[rows[i] as number] as number] === 0) continue;
      const group = groups[i] as number;
      totals[group] = (totals[group] as number) + 1;
    }
    return;
  }
  for (const { from, to, group } of runs) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += flags[ids[rows[i] as number] as number] as number;
    totals[group] = (totals[group] as number) + sum;
  }
}

/**
 * The rows whose number in a column is flagged.
 * @param name of the room for them
 */
export function keepFlagged(
  grouped: GroupedRows,
  { ids, flags }: RowFlags,
  scratch: Scratch,
  name: string,
): GroupedRows {
  const { count } = grouped;
  const rows = scratch.ids(name, count);
  const groups = new Int32Array(scratch.bytes(`${name} groups`, count * 4), 0, count);
  const kept =
    grouped.runs === undefined
      ? keepScattered(grouped, { ids, flags }, rows, groups)
      : keepRuns(grouped.rows, grouped.runs, { ids, flags }, rows, groups);
  return { rows, count: kept, groups, runs: undefined };
}

function keepScattered(
  grouped: GroupedRows,
  { ids, flags }: RowFlags,
  rows: Uint16Array,
  groups: Int32Array,
): number {
  let kept = 0;
  for (let i = 0; i < grouped.count; i++) {
    const row = grouped.rows[i] as number;
    if (flags[ids[row] as number] === 0) continue;
    rows[kept] = row;
    groups[kept++] = grouped.groups[i] as number;
  }
  return kept;
}

function keepRuns(
  from: Uint16Array,
  runs: readonly Run[],
  { ids, flags }: RowFlags,
  rows: Uint16Array,
  groups: Int32Array,
): number {
  let kept = 0;
  for (const run of runs) {
    for (let i = run.from; i < run.to; i++) {
      const row = from[i] as number;
      if (flags[ids[row] as number] === 0) continue;
      rows[kept] = row;
      groups[kept++] = run.group;
    }
  }
  return kept;
}

/** Keeps the least, and the greatest, numbers of two columns. */
export function addBounds(
  least: Float64Array,
  greatest: Float64Array,
  grouped: GroupedRows,
  firsts: Float64Array,
  lasts: Float64Array,
): void {
  if (grouped.runs !== undefined) {
    eachRow(grouped, (row, group) => {
      least[group] = Math.min(least[group] as number, firsts[row] as number);
      greatest[group] = Math.max(greatest[group] as number, lasts[row] as number);
    });
    return;
  }
  const { rows, count, groups } = grouped;
  for (let i = 0; i < count; i++) {
    const group = groups[i] as number;
    const row = rows[i] as number;
    const first = firsts[row] as number;
    const last = lasts[row] as number;
    if (first < (least[group] as number)) least[group] = first;
    if (last > (greatest[group] as number)) greatest[group] = last;
  }
}

/** Of rows one by one, with their groups. */
export function eachRow(
  { rows, count, groups, runs }: GroupedRows,
  each: (row: number, group: number) => void,
): void {
  if (runs === undefined) {
    for (let i = 0; i < count; i++) each(rows[i] as number, groups[i] as number);
    return;
  }
  for (const { from, to, group } of runs) for (let i = from; i < to; i++) each(rows[i] as number, group);
}
