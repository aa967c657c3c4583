// Sums of the log: the rows that a filter means are put into groups and added up, column by column.
import type { LogAggregation } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import { Accumulator, AT, STRIDE } from './accumulator.ts';
import { type AggregatePlan, tooMuch } from './aggregate-plan.ts';
import { dimensionCondition } from './dimension-column.ts';
import { groupsOfPage } from './group-order.ts';
import { Grouping } from './grouping.ts';
import { Ranking } from './ranking.ts';
import type { LogScope, Selection } from './selection.ts';
import { UniqueCounts } from './unique-counts.ts';

export interface LogSumsCall extends LogScope {
  readonly kind: 'sums';
  readonly filter: LogFilter;
  readonly aggregation: LogAggregation;
}

/** Sums as they cross between threads: row by row, each `STRIDE` numbers. */
export interface LogSumRows {
  readonly buckets: Float64Array;
  readonly groups: readonly (readonly string[])[];
  readonly sums: Float64Array;
  /** Money, three of each row: cost, saved, saved by semantic hits. */
  readonly money: readonly bigint[];
  /** Where each row's histogram begins and the last one ends; pairs of bucket and count. */
  readonly starts: Uint32Array;
  readonly latencies: Float64Array;
  readonly unique: Int32Array | null;
  readonly allGroups: number;
  readonly allUnique: number;
  readonly source: AggregatePlan['source'];
}

/** Rows of an answer. */
const ROWS = 200_000;

/** @param atOnce groups that are added up in one go; of more of them, those that are asked for are found first. */
export function readSums(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
  atOnce: number,
): LogSumRows {
  const ranked = aggregation.bucketMs === undefined && aggregation.take !== undefined;
  const found = addUp(plan, aggregation, selection, ranked ? atOnce : ROWS);
  if (found) {
    const { grouping, accumulator } = found;
    const page = groupsOfPage(grouping, aggregation, (group, measure) => accumulator.measure(group, measure));
    return sumRows(plan, found, page);
  }
  if (!ranked) throw tooMuch();
  const { texts, groups, unique } = rank(plan, aggregation, selection);
  if (texts.length > ROWS) throw tooMuch();
  return { ...readChosen(plan, aggregation, selection, texts), allGroups: groups, allUnique: unique };
}

interface Added {
  readonly grouping: Grouping;
  readonly accumulator: Accumulator;
  readonly unique: { readonly each: Int32Array; readonly all: number } | undefined;
}

/** Undefined: there are more groups than `most`. */
function addUp(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
  most: number,
): Added | undefined {
  const grouping = new Grouping(aggregation, selection);
  const accumulator = new Accumulator();
  const unique =
    aggregation.unique === undefined ? undefined : new UniqueCounts(aggregation.unique, selection);
  const groups = new Int32Array(65_536);
  for (const { open, from, until } of plan.pieces) {
    const segment = open();
    const { rows, count } = selection.rows(segment, from, until);
    if (count === 0) continue;
    grouping.assign(segment, rows, count, groups);
    if (grouping.size > most) return undefined;
    accumulator.grow(grouping.size);
    accumulator.add(segment, rows, count, groups, selection.scratch);
    unique?.add(segment, rows, count, groups);
  }
  return { grouping, accumulator, unique: unique?.counts(grouping.size) };
}

/** The groups that are asked for, by adding up what they are put in order by alone. */
function rank(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
): { readonly texts: readonly (readonly string[])[]; readonly groups: number; readonly unique: number } {
  const { measure } = aggregation.order ?? { measure: 'requests' };
  const grouping = new Grouping(aggregation, selection);
  const ranking = measure === 'group' ? undefined : new Ranking(measure);
  const unique =
    aggregation.unique === undefined ? undefined : new UniqueCounts(aggregation.unique, selection);
  const groups = new Int32Array(65_536);
  for (const { open, from, until } of plan.pieces) {
    const segment = open();
    const { rows, count } = selection.rows(segment, from, until);
    if (count === 0) continue;
    grouping.assign(segment, rows, count, groups);
    if (grouping.size > MOST_RANKED) throw tooMuch();
    ranking?.add(segment, rows, count, groups, grouping.size, selection.scratch);
    if (!unique) continue;
    for (let i = 0; i < count; i++) groups[i] = Math.min(groups[i] as number, 0);
    unique.add(segment, rows, count, groups);
  }
  const page = groupsOfPage(grouping, aggregation, (group) => ranking?.of(group) ?? 0);
  return {
    texts: page.map((group) => grouping.textsOf(group)),
    groups: grouping.groups,
    unique: unique?.counts(1).all ?? 0,
  };
}

/** Groups that are put in order. */
const MOST_RANKED = 2_000_000;

/** The sums of some groups, in the order given. */
function readChosen(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
  texts: readonly (readonly string[])[],
): LogSumRows {
  const conditions = (aggregation.by ?? []).map((dimension, i) =>
    dimensionCondition(dimension, new Set(texts.map((group) => group[i] ?? ''))),
  );
  const added = addUp(plan, aggregation, selection.and(conditions), Number.POSITIVE_INFINITY) as Added;
  const all = Array.from({ length: added.grouping.size }, (_, group) => group);
  const byText = new Map([...added.grouping.joinedTexts(all)].map(([group, text]) => [text, group]));
  const page = texts.map((group) => byText.get(group.join('\0')) as number);
  return sumRows(plan, added, page);
}

function sumRows({ source }: AggregatePlan, added: Added, page: readonly number[]): LogSumRows {
  const { grouping, accumulator, unique } = added;
  const sums = new Float64Array(page.length * STRIDE);
  const money: bigint[] = [];
  const rowOf = new Map<number, number>();
  for (const [row, group] of page.entries()) {
    const at = group * STRIDE;
    rowOf.set(group, row);
    sums.set(accumulator.sums.subarray(at, at + STRIDE), row * STRIDE);
    for (const place of [AT.cost, AT.saved, AT.semanticSaved]) money.push(accumulator.money(at + place));
  }
  return {
    ...{ sums, money, source, ...histogramsOf(accumulator, rowOf, page.length) },
    buckets: Float64Array.from(page, (group) => grouping.bucketOf(group)),
    groups: page.map((group) => grouping.textsOf(group)),
    unique: unique ? Int32Array.from(page, (group) => unique.each[group] as number) : null,
    allGroups: grouping.groups,
    allUnique: unique?.all ?? 0,
  };
}

function histogramsOf(
  { latencies }: Accumulator,
  rowOf: ReadonlyMap<number, number>,
  rows: number,
): Pick<LogSumRows, 'starts' | 'latencies'> {
  const starts = new Uint32Array(rows + 1);
  latencies.forEach((group) => {
    const row = rowOf.get(group);
    if (row !== undefined) starts[row + 1] = (starts[row + 1] as number) + 1;
  });
  for (let row = 0; row < rows; row++)
    starts[row + 1] = (starts[row + 1] as number) + (starts[row] as number);
  const next = starts.slice();
  const pairs = new Float64Array(2 * (starts[rows] as number));
  latencies.forEach((group, bucket, count) => {
    const row = rowOf.get(group);
    if (row === undefined) return;
    const at = next[row] as number;
    next[row] = at + 1;
    pairs[at * 2] = bucket;
    pairs[at * 2 + 1] = count;
  });
  return { starts, latencies: pairs };
}
