// The conditions of a filter, held against a segment: first against its head and texts, which nearly always say that it
// has nothing, then row by row.
import type { LogFilter, LogRange } from '../../request-log.ts';
import type { TextHash } from './hash.ts';
import { firstOf } from './known-entries.ts';
import { amountOf, MONEY_EXACT } from './money-column.ts';
import type { Scratch, Segment } from './segment.ts';
import type { NumberName } from './segment-head.ts';
import type { TextHead } from './text-column.ts';

/** What a condition says of a segment: of none of its rows, of all, or of those that it keeps. */
export type Verdict = 'none' | 'all' | Narrow;

/** Keeps the matching rows at the start of `rows`; returns how many. */
export type Narrow = (rows: Uint16Array, count: number) => number;

export type Condition = (segment: Segment, scratch: Scratch, hash: TextHash) => Verdict;

/** Rows with one of the texts; `none` as well: those without any. */
export function textCondition(
  name: string,
  columnOf: (segment: Segment) => TextHead | undefined,
  wanted: ReadonlySet<string>,
  none = false,
): Condition {
  return (segment, scratch, hash) => {
    const column = columnOf(segment);
    if (column === undefined) return none ? 'all' : 'none';
    const flags = new Uint8Array(column.size + 1);
    const any = markWanted(segment, column, wanted, flags, scratch, hash);
    if (none) flags[0] = 1;
    if (column.constant !== undefined) return flags[column.constant] === 1 ? 'all' : 'none';
    if (!any && !none) return 'none';
    return (rows, count) => {
      const ids = segment.packedIds(column, scratch, name);
      return keepFlagged(rows, count, ids, flags);
    };
  };
}

/** Marks the numbers of the texts; false: the column has none of them. */
export function markWanted(
  segment: Segment,
  column: TextHead,
  wanted: ReadonlySet<string>,
  flags: Uint8Array,
  scratch: Scratch,
  hash: TextHash,
): boolean {
  let any = false;
  if (column.values) {
    for (const [at, value] of column.values.entries()) {
      if (!wanted.has(value)) continue;
      flags[at + 1] = 1;
      any = true;
    }
    return any;
  }
  const { lo, hi } = segment.hashes(column, hash, scratch, 'wanted');
  for (const text of wanted) {
    hash.of(text);
    for (let at = firstOf(lo, hash.lo); at < lo.length && lo[at] === hash.lo; at++) {
      if (hi[at] !== hash.hi) continue;
      flags[at + 1] = 1;
      any = true;
    }
  }
  return any;
}

export function keepFlagged(
  rows: Uint16Array,
  count: number,
  ids: Uint8Array | Uint16Array,
  flags: Uint8Array,
): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const row = rows[i] as number;
    if (flags[ids[row] as number] === 0) continue;
    rows[kept++] = row;
  }
  return kept;
}

/** Rows with one of the values under a key of metadata. */
export function pairCondition(key: string, wanted: ReadonlySet<string>): Condition {
  const columned = textCondition(`m:${key}`, (segment) => segment.metadata(key), wanted);
  return (segment, scratch, hash) => {
    if (segment.metadata(key) !== undefined || segment.head.pairs === undefined) {
      return columned(segment, scratch, hash);
    }
    const meant = new Uint8Array(segment.count);
    let any = false;
    for (const [row, otherKey, otherValue] of segment.pairs()) {
      if (otherKey !== key || !wanted.has(otherValue)) continue;
      meant[row] = 1;
      any = true;
    }
    return any ? (rows, count) => keepRows(rows, count, meant) : 'none';
  };
}

export function keepRows(rows: Uint16Array, count: number, meant: Uint8Array): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const row = rows[i] as number;
    if (meant[row] === 1) rows[kept++] = row;
  }
  return kept;
}

/** Rows with one of the pairs of provider and model. */
export function providerModelCondition(pairs: NonNullable<LogFilter['providerModels']>): Condition {
  const models = new Map<string, Set<string>>();
  for (const { provider, model } of pairs) {
    models.set(provider, (models.get(provider) ?? new Set()).add(model));
  }
  const conditions = [...models].map(([provider, own]) => [
    textCondition('provider', (segment) => segment.text('provider'), new Set([provider])),
    textCondition('model', (segment) => segment.text('model'), own),
  ]);
  return anyOf(conditions);
}

/** Rows that meet all conditions of one of the lists. */
function anyOf(lists: readonly (readonly Condition[])[]): Condition {
  return (segment, scratch, hash) => {
    const open: Narrow[][] = [];
    for (const conditions of lists) {
      const verdicts = conditions.map((condition) => condition(segment, scratch, hash));
      if (verdicts.includes('none')) continue;
      const narrow = verdicts.filter((verdict) => typeof verdict === 'function');
      if (narrow.length === 0) return 'all';
      open.push(narrow);
    }
    if (open.length === 0) return 'none';
    return (rows, count) => {
      const meant = new Uint8Array(segment.count);
      for (const narrow of open) {
        const own = rows.slice(0, count);
        let left = count;
        for (const keep of narrow) left = keep(own, left);
        for (let i = 0; i < left; i++) meant[own[i] as number] = 1;
      }
      return keepRows(rows, count, meant);
    };
  };
}

/** Rows whose number is in a range; `scale` is what the column's numbers are divided by. */
export function rangeCondition(
  nameOf: (segment: Segment) => readonly [name: NumberName, scale: number],
  { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: LogRange<number>,
): Condition {
  return (segment, scratch) => {
    const [name, scale] = nameOf(segment);
    const { least = 0, greatest = 0 } = segment.head.numbers[name] ?? {};
    if (greatest / scale < min || least / scale > max) return 'none';
    if (least / scale >= min && greatest / scale <= max) return 'all';
    return (rows, count) => {
      const values = segment.numbers(name, scratch);
      let kept = 0;
      for (let i = 0; i < count; i++) {
        const row = rows[i] as number;
        const value = (values[row] as number) / scale;
        if (value >= min && value <= max) rows[kept++] = row;
      }
      return kept;
    };
  };
}

export function latencyCondition(range: LogRange<number>): Condition {
  return rangeCondition(
    (segment) => (segment.head.numbers.latencyMs ? ['latencyMs', 1] : ['latencyUs', 1000]),
    range,
  );
}

/** Rows whose cost is in a range; a row without a cost has 0. */
export function costCondition({ min, max }: LogRange<bigint>): Condition {
  const bound = (value: bigint): number =>
    value > MONEY_EXACT ? Number.POSITIVE_INFINITY : value < 0n ? -1 : Number(value);
  const plain = rangeCondition(() => ['cost', 1], {
    ...(min === undefined ? {} : { min: bound(min) }),
    ...(max === undefined ? {} : { max: bound(max) }),
  });
  return (segment, scratch, hash) => {
    const { largeCost } = segment.head;
    if (!largeCost) return plain(segment, scratch, hash);
    const large = new Uint8Array(segment.count);
    for (const [row, amount] of largeCost) {
      const cost = amountOf(amount);
      const meant = (min === undefined || cost >= min) && (max === undefined || cost <= max);
      large[row] = meant ? 1 : 2;
    }
    const verdict = plain(segment, scratch, hash);
    return (rows, count) => {
      const own = new Uint8Array(segment.count);
      const others = rows.slice(0, count);
      const left = verdict === 'none' ? 0 : verdict === 'all' ? count : verdict(others, count);
      for (let i = 0; i < left; i++) own[others[i] as number] = 1;
      for (const [row] of largeCost) own[row] = large[row] === 1 ? 1 : 0;
      return keepRows(rows, count, own);
    };
  };
}
