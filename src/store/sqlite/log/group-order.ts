// The groups of an answer, in order. Of hundreds of thousands only those that can be on the page are compared one by one.
import type { LogAggregation, LogMeasure } from '../../log/aggregation.ts';

/** Groups by their numbers from 0. */
export interface GroupList {
  readonly size: number;
  bucketOf(group: number): number;
  /** The number of a group's values, which groups of several buckets have in common. */
  pairOf(group: number): number;
  textsOf(pair: number): string[];
  /** Reads the texts of many at once. */
  prepare(pairs: Iterable<number>): void;
}

type Measured = (group: number, measure: Exclude<LogMeasure, 'group'>) => number | bigint;

export function groupsOfPage(groups: GroupList, aggregation: LogAggregation, measured: Measured): number[] {
  const { bucketMs, order, skip = 0, take } = aggregation;
  const { measure, direction } = order ?? { measure: 'requests', direction: 'desc' };
  const sign = direction === 'asc' ? 1 : -1;
  if (bucketMs !== undefined) return byBucket(groups);
  const end = take === undefined ? groups.size : Math.min(groups.size, skip + take);
  if (end <= skip) return [];
  if (measure === 'group') {
    const all = Array.from({ length: groups.size }, (_, group) => group);
    const ranks = textRanks(groups, all);
    return all.sort((a, b) => sign * (rankOf(ranks, groups, a) - rankOf(ranks, groups, b))).slice(skip, end);
  }
  const values = new Float64Array(groups.size);
  for (let group = 0; group < values.length; group++) values[group] = sign * Number(measured(group, measure));
  // What is beyond the page's last value, or at it, can be on it: rounded money keeps its order.
  const last = nthLeast(values.slice(), end - 1);
  const candidates: number[] = [];
  for (let group = 0; group < values.length; group++)
    if ((values[group] as number) <= last) candidates.push(group);
  const exact = new Map(candidates.map((group) => [group, measured(group, measure)]));
  let ranks: ReadonlyMap<number, number> | undefined;
  return candidates
    .sort((a, b) => {
      const [x, y] = [exact.get(a) as number | bigint, exact.get(b) as number | bigint];
      if (x < y) return -sign;
      if (x > y) return sign;
      ranks ??= textRanks(groups, candidates);
      return rankOf(ranks, groups, a) - rankOf(ranks, groups, b);
    })
    .slice(skip, end);
}

/** All groups by their buckets, those of one by their texts. */
function byBucket(groups: GroupList): number[] {
  const all = Array.from({ length: groups.size }, (_, group) => group);
  const ranks = textRanks(groups, all);
  const buckets = new Float64Array(new Set(all.map((group) => groups.bucketOf(group)))).sort();
  const numberOf = new Map([...buckets].map((bucket, number) => [bucket, number]));
  const { size } = groups;
  const keys = Float64Array.from(all, (group) => {
    const bucket = numberOf.get(groups.bucketOf(group)) as number;
    return (bucket * ranks.size + rankOf(ranks, groups, group)) * size + group;
  });
  return Array.from(keys.sort(), (key) => key % size);
}

/** The places of the pairs of groups in the order of their texts. */
function textRanks(groups: GroupList, some: readonly number[]): Map<number, number> {
  const pairs = [...new Set(some.map((group) => groups.pairOf(group)))];
  groups.prepare(pairs);
  const texts = new Map(pairs.map((pair) => [pair, groups.textsOf(pair).join('\0')]));
  pairs.sort((a, b) => ((texts.get(a) as string) < (texts.get(b) as string) ? -1 : 1));
  return new Map(pairs.map((pair, rank) => [pair, rank]));
}

function rankOf(ranks: ReadonlyMap<number, number>, groups: GroupList, group: number): number {
  return ranks.get(groups.pairOf(group)) as number;
}

/** The value at a place of the numbers in rising order, whose own order it changes (Hoare's selection). */
function nthLeast(values: Float64Array, place: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >>> 1] as number;
    let [i, j] = [low, high];
    while (i <= j) {
      while ((values[i] as number) < pivot) i++;
      while ((values[j] as number) > pivot) j--;
      if (i > j) break;
      const value = values[i] as number;
      values[i++] = values[j] as number;
      values[j--] = value;
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return values[place] as number;
}
