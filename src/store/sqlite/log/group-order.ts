// The groups of an answer, in order. Of hundreds of thousands only those that can be on the page are compared one by one.
import type { LogAggregation, LogMeasure } from '../../log/aggregation.ts';
import type { Grouping } from './grouping.ts';

type Measured = (group: number, measure: Exclude<LogMeasure, 'group'>) => number | bigint;

export function groupsOfPage(grouping: Grouping, aggregation: LogAggregation, measured: Measured): number[] {
  const { bucketMs, order, skip = 0, take } = aggregation;
  const { measure, direction } = order ?? { measure: 'requests', direction: 'desc' };
  const sign = direction === 'asc' ? 1 : -1;
  const all = Array.from({ length: grouping.size }, (_, group) => group);
  if (bucketMs !== undefined) {
    const byText = textOrder(grouping, all);
    return all.sort((a, b) => grouping.bucketOf(a) - grouping.bucketOf(b) || byText(a, b));
  }
  const end = take === undefined ? all.length : Math.min(all.length, skip + take);
  if (end <= skip) return [];
  if (measure === 'group') {
    const byText = textOrder(grouping, all);
    return all.sort((a, b) => sign * byText(a, b)).slice(skip, end);
  }
  const values = new Float64Array(all.length);
  for (let group = 0; group < values.length; group++) values[group] = Number(measured(group, measure));
  const sorted = values.slice().sort();
  // What is beyond the page's last value, or at it, can be on it: rounded money keeps its order.
  const last = sorted[sign < 0 ? sorted.length - end : end - 1] as number;
  const candidates = all.filter((group) => sign * (values[group] as number) <= sign * last);
  const byText = textOrder(grouping, candidates);
  const exact = new Map(candidates.map((group) => [group, measured(group, measure)]));
  return candidates
    .sort((a, b) => {
      const [x, y] = [exact.get(a) as number | bigint, exact.get(b) as number | bigint];
      return x < y ? -sign : x > y ? sign : byText(a, b);
    })
    .slice(skip, end);
}

/** Compares groups by their texts, which are read when the first two are compared. */
function textOrder(grouping: Grouping, groups: readonly number[]): (a: number, b: number) => number {
  let texts: Map<number, string> | undefined;
  return (a, b) => {
    texts ??= grouping.joinedTexts(groups);
    const [x, y] = [texts.get(a) ?? '', texts.get(b) ?? ''];
    return x < y ? -1 : x > y ? 1 : 0;
  };
}
