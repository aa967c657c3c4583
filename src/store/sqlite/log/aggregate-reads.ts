// Aggregations of the log: the rows that match a filter are grouped and added up, column by column.
import type { LogAggregation } from '../../log/aggregation.ts';
import { Accumulator } from './accumulator.ts';
import { type AggregatePlan, type AggregateQuestion, tooMuch } from './aggregate-plan.ts';
import { ChosenValues } from './chosen-values.ts';
import { dimensionCondition } from './dimension-column.ts';
import { groupsOfPage } from './group-order.ts';
import type { GroupedRows } from './grouped-rows.ts';
import { Grouping } from './grouping.ts';
import { Ranking } from './ranking.ts';
import { type RollupRows, sumRows } from './rollup-rows.ts';
import type { Segment } from './segment.ts';
import type { SelectedRows, Selection } from './selection.ts';
import { type DistinctValues, UniqueCounts } from './unique-counts.ts';
import { ValueRanking } from './value-ranking.ts';

export interface LogRollupsCall extends AggregateQuestion {
  readonly kind: 'sums';
}

/** Rows of an answer. */
const ROWS = 200_000;

/** @param atOnce groups that are added up in one go; of more of them, those that are asked for are found first. */
export function readRollups(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
  atOnce: number,
): RollupRows {
  const ranked = aggregation.bucketMs === undefined && aggregation.take !== undefined;
  const grouping = new Grouping(aggregation, selection);
  const found = addUp(plan, aggregation, selection, grouping, ranked ? atOnce : ROWS);
  if (found) {
    const { accumulator, unique } = found;
    const page = groupsOfPage(grouping, aggregation, (group, measure) => accumulator.measure(group, measure));
    const all = { groups: grouping.pairs, unique: unique?.all ?? 0 };
    return sumRows(page, grouping, accumulator, unique?.each, all, plan.source);
  }
  if (!ranked) throw tooMuch();
  const { by = [] } = aggregation;
  return by.length === 1 ? readValues(plan, aggregation, selection) : readPairs(plan, aggregation, selection);
}

/** Segments with the rows of them that are meant, where there are any. */
function* selectedOf(
  pieces: AggregatePlan['pieces'],
  selection: Selection,
): Generator<readonly [Segment, SelectedRows]> {
  for (const { open, from, until } of pieces) {
    const segment = open();
    const selected = selection.rows(segment, from, until);
    if (selected.count > 0) yield [segment, selected];
  }
}

interface Assigning {
  readonly size: number;
  assign(segment: Segment, selected: SelectedRows): GroupedRows;
}

interface Added {
  readonly accumulator: Accumulator;
  readonly unique: DistinctValues | undefined;
}

/** Undefined: there are more groups than `most`. */
function addUp(
  plan: AggregatePlan,
  { bucketMs, by = [], unique, latencies, firstTokens }: LogAggregation,
  selection: Selection,
  groups: Assigning,
  most: number,
): Added | undefined {
  const accumulator = new Accumulator(latencies !== false, firstTokens === true);
  const together = bucketMs === undefined && by.length === 0;
  const counts = unique === undefined ? undefined : new UniqueCounts(unique, selection, together);
  for (const [segment, selected] of selectedOf(plan.pieces, selection)) {
    const grouped = groups.assign(segment, selected);
    if (groups.size > most) return undefined;
    accumulator.grow(groups.size);
    accumulator.add(segment, grouped, selection.scratch);
    if (plan.unique === undefined) counts?.add(segment, grouped);
  }
  if (counts) countEntries(plan, selection, groups, counts);
  return { accumulator, unique: counts?.counts(groups.size) };
}

/** Counts distinct values where the roll-ups do not have them. */
function countEntries(
  { unique = [] }: AggregatePlan,
  selection: Selection,
  groups: Assigning,
  counts: UniqueCounts,
): void {
  for (const [segment, selected] of selectedOf(unique, selection))
    counts.add(segment, groups.assign(segment, selected));
}

/** Groups that are put in order. */
const MOST_RANKED = 2_000_000;

/** Of many values of one dimension: puts them in order by one measure, then adds up those that are asked for. */
function readValues(plan: AggregatePlan, aggregation: LogAggregation, selection: Selection): RollupRows {
  const [dimension] = aggregation.by as [NonNullable<LogAggregation['by']>[number]];
  const { measure } = aggregation.order ?? { measure: 'requests' };
  const ranking = new ValueRanking(dimension, measure, selection);
  const { unique } = aggregation;
  const counts = unique === undefined ? undefined : new UniqueCounts(unique, selection, true);
  for (const [segment, selected] of selectedOf(plan.pieces, selection)) {
    ranking.add(segment, selected);
    if (counts && plan.unique === undefined) counts.add(segment, ranking.assign(segment, selected));
  }
  if (counts) countEntries(plan, selection, ranking, counts);
  if (ranking.size > MOST_RANKED) throw tooMuch();
  const page = groupsOfPage(ranking, aggregation, (group) => ranking.measure(group));
  if (page.length > ROWS) throw tooMuch();
  const numbers = page.map((group) => ranking.pairOf(group));
  const chosen = new ChosenValues(dimension, numbers, ranking.table, selection);
  const added = addUp(plan, aggregation, selection, chosen, Number.POSITIVE_INFINITY) as Added;
  const all = { groups: ranking.size, unique: counts?.counts(1).all ?? 0 };
  return sumRows([...page.keys()], chosen, added.accumulator, added.unique?.each, all, plan.source);
}

/** The same of pairs of values. */
function readPairs(plan: AggregatePlan, aggregation: LogAggregation, selection: Selection): RollupRows {
  const { measure } = aggregation.order ?? { measure: 'requests' };
  const grouping = new Grouping(aggregation, selection);
  const ranking = measure === 'group' ? undefined : new Ranking(measure);
  const { unique } = aggregation;
  const counts = unique === undefined ? undefined : new UniqueCounts(unique, selection, true);
  for (const [segment, selected] of selectedOf(plan.pieces, selection)) {
    const grouped = grouping.assign(segment, selected);
    if (grouping.size > MOST_RANKED) throw tooMuch();
    ranking?.add(segment, grouped, grouping.size, selection.scratch);
    if (plan.unique === undefined) counts?.add(segment, grouped);
  }
  if (counts) countEntries(plan, selection, grouping, counts);
  const page = groupsOfPage(grouping, aggregation, (group) => ranking?.of(group) ?? 0);
  if (page.length > ROWS) throw tooMuch();
  const texts = page.map((group) => grouping.textsOf(grouping.pairOf(group)));
  const all = { groups: grouping.pairs, unique: counts?.counts(1).all ?? 0 };
  return readChosen(plan, aggregation, selection, texts, all);
}

/** The totals of some groups, in the order given. */
function readChosen(
  plan: AggregatePlan,
  aggregation: LogAggregation,
  selection: Selection,
  texts: readonly (readonly string[])[],
  all: { readonly groups: number; readonly unique: number },
): RollupRows {
  const conditions = (aggregation.by ?? []).map((dimension, i) =>
    dimensionCondition(dimension, new Set(texts.map((group) => group[i] ?? ''))),
  );
  const narrower = selection.and(conditions);
  const grouping = new Grouping(aggregation, narrower);
  const added = addUp(plan, aggregation, narrower, grouping, Number.POSITIVE_INFINITY) as Added;
  const byText = new Map(
    Array.from({ length: grouping.size }, (_, group) => [
      grouping.textsOf(grouping.pairOf(group)).join('\0'),
      group,
    ]),
  );
  const page = texts.map((group) => byText.get(group.join('\0')) as number);
  return sumRows(page, grouping, added.accumulator, added.unique?.each, all, plan.source);
}
