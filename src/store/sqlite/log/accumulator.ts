// Sums of groups in one typed array, a stretch for each group.
import type { LogMeasure } from '../../log/aggregation.ts';
import { Histograms } from './histograms.ts';
import { amountOf, MONEY_EXACT } from './money-column.ts';
import type { Scratch, Segment } from './segment.ts';
import type { LargeMoney, TextName } from './segment-head.ts';

/** Places of a group's sums. */
export const AT = {
  ...{ requests: 0, successes: 1, errors: 2, cost: 3, promptTokens: 4, completionTokens: 5, totalTokens: 6 },
  ...{ latencyUs: 7, cacheHits: 8, semanticHits: 9, cacheLatencyUs: 10, saved: 11, semanticSaved: 12 },
  ...{ retried: 13, rescued: 14, firstSeen: 15, lastSeen: 16 },
} as const;
export const STRIDE = 17;

/** What of sums is added to sums as it is. */
const ADDED = [
  ...([
    'requests',
    'successes',
    'errors',
    'cost',
    'promptTokens',
    'completionTokens',
    'totalTokens',
  ] as const),
  ...(['latencyUs', 'cacheHits', 'semanticHits', 'cacheLatencyUs', 'saved', 'semanticSaved'] as const),
  ...(['retried', 'rescued'] as const),
];

const HIT = 1;
const SEMANTIC = 2;
const SUCCESS = 1;
export const ERROR = 2;

/** What it is of rows that sums need. */
export interface RowClasses {
  readonly status: Uint8Array;
  readonly cache: Uint8Array;
  readonly retried: Uint8Array;
  readonly rescued: Uint8Array;
}

export class Accumulator {
  sums = new Float64Array(STRIDE * 64);
  readonly latencies = new Histograms();
  /** Money above what a number holds, by the place of its sum. */
  readonly #large = new Map<number, bigint>();
  #groups = 0;

  /** Money at a place, exactly. */
  money(place: number): bigint {
    return (this.#large.get(place) ?? 0n) + BigInt(this.sums[place] as number);
  }

  /** Makes room for so many groups. */
  grow(groups: number): void {
    if (groups <= this.#groups) return;
    if (groups * STRIDE > this.sums.length) {
      const more = new Float64Array(Math.max(groups, 2 * this.#groups) * STRIDE);
      more.set(this.sums);
      this.sums = more;
    }
    for (let group = this.#groups; group < groups; group++) {
      this.sums[group * STRIDE + AT.firstSeen] = Number.MAX_SAFE_INTEGER;
    }
    this.#groups = groups;
  }

  /** Adds rows, each to its group; those of group -1 to none. */
  add(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array, scratch: Scratch): void {
    if (segment.head.histograms) {
      this.#addSums(segment, rows, count, groups, scratch);
      return;
    }
    const classes = classesOf(segment, scratch);
    this.#addCounts(segment, rows, count, groups, scratch, classes);
    const times = segment.numbers('time', scratch);
    const buckets = segment.numbers('latencyBucket', scratch);
    const { sums, latencies } = this;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const row = rows[i] as number;
      const at = group * STRIDE;
      const time = times[row] as number;
      sums[at] = (sums[at] as number) + 1;
      if (time < (sums[at + AT.firstSeen] as number)) sums[at + AT.firstSeen] = time;
      if (time > (sums[at + AT.lastSeen] as number)) sums[at + AT.lastSeen] = time;
      latencies.add(group, buckets[row] as number, 1);
    }
  }

  #addSums(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array, scratch: Scratch): void {
    for (const name of ADDED) this.#addColumn(AT[name], segment.numbers(name, scratch), rows, count, groups);
    const firsts = segment.numbers('firstSeen', scratch);
    const lasts = segment.numbers('lastSeen', scratch);
    const { starts, pairs } = segment.histograms(scratch);
    const { sums, latencies } = this;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const row = rows[i] as number;
      const at = group * STRIDE;
      sums[at + AT.firstSeen] = Math.min(sums[at + AT.firstSeen] as number, firsts[row] as number);
      sums[at + AT.lastSeen] = Math.max(sums[at + AT.lastSeen] as number, lasts[row] as number);
      const end = starts[row + 1] as number;
      for (let pair = starts[row] as number; pair < end; pair++) {
        latencies.add(group, pairs[pair * 2] as number, pairs[pair * 2 + 1] as number);
      }
    }
    const { largeCost, largeSaved, largeSemanticSaved } = segment.head;
    if (!largeCost && !largeSaved && !largeSemanticSaved) return;
    const groupOf = groupsByRow(segment, rows, count, groups);
    this.#addMoney(largeCost, groupOf, () => AT.cost);
    this.#addMoney(largeSaved, groupOf, () => AT.saved);
    this.#addMoney(largeSemanticSaved, groupOf, () => AT.semanticSaved);
  }

  #addColumn(
    place: number,
    values: Float64Array,
    rows: Uint16Array,
    count: number,
    groups: Int32Array,
  ): void {
    const { sums } = this;
    const isMoney = place === AT.cost || place === AT.saved || place === AT.semanticSaved;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const at = group * STRIDE + place;
      const sum = (sums[at] as number) + (values[rows[i] as number] as number);
      sums[at] = isMoney && sum > MONEY_EXACT ? this.#carry(at, sum) : sum;
    }
  }

  #addCounts(
    segment: Segment,
    rows: Uint16Array,
    count: number,
    groups: Int32Array,
    scratch: Scratch,
    classes: RowClasses,
  ): void {
    const prompt = segment.numbers('promptTokens', scratch);
    const completion = segment.numbers('completionTokens', scratch);
    const total = segment.numbers('totalTokens', scratch);
    const latency = segment.numbers('latencyUs', scratch);
    const cost = segment.numbers('cost', scratch);
    const saved = segment.numbers('saved', scratch);
    const { sums } = this;
    const { status, cache, retried, rescued } = classes;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const row = rows[i] as number;
      const at = group * STRIDE;
      const us = latency[row] as number;
      const code = status[row] as number;
      if (code === SUCCESS) sums[at + 1] = (sums[at + 1] as number) + 1;
      else if (code === ERROR) sums[at + 2] = (sums[at + 2] as number) + 1;
      const money = (sums[at + 3] as number) + (cost[row] as number);
      sums[at + 3] = money <= MONEY_EXACT ? money : this.#carry(at + 3, money);
      sums[at + 4] = (sums[at + 4] as number) + (prompt[row] as number);
      sums[at + 5] = (sums[at + 5] as number) + (completion[row] as number);
      sums[at + 6] = (sums[at + 6] as number) + (total[row] as number);
      sums[at + 7] = (sums[at + 7] as number) + us;
      const hit = cache[row] as number;
      if (hit !== 0) {
        const place = at + (hit === HIT ? AT.saved : AT.semanticSaved);
        const hits = at + (hit === HIT ? AT.cacheHits : AT.semanticHits);
        sums[hits] = (sums[hits] as number) + 1;
        sums[at + 10] = (sums[at + 10] as number) + us;
        const spared = (sums[place] as number) + (saved[row] as number);
        sums[place] = spared <= MONEY_EXACT ? spared : this.#carry(place, spared);
      }
      if (retried[row] === 1) sums[at + 13] = (sums[at + 13] as number) + 1;
      if (rescued[row] === 1) sums[at + 14] = (sums[at + 14] as number) + 1;
    }
    this.#addLarge(segment, rows, count, groups, cache);
  }

  #addLarge(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array, cache: Uint8Array): void {
    const { largeCost, largeSaved } = segment.head;
    if (!largeCost && !largeSaved) return;
    const groupOf = groupsByRow(segment, rows, count, groups);
    this.#addMoney(largeCost, groupOf, () => AT.cost);
    this.#addMoney(largeSaved, groupOf, (row) =>
      cache[row] === HIT ? AT.saved : cache[row] === SEMANTIC ? AT.semanticSaved : -1,
    );
  }

  #addMoney(large: LargeMoney | undefined, groupOf: Int32Array, placeOf: (row: number) => number): void {
    for (const [row, amount] of large ?? []) {
      const place = placeOf(row);
      const group = groupOf[row] as number;
      if (group < 0 || place < 0) continue;
      const at = group * STRIDE + place;
      this.#large.set(at, (this.#large.get(at) ?? 0n) + amountOf(amount));
    }
  }

  /** Moves what a sum has to where it cannot overflow; what is left of it is nothing. */
  #carry(place: number, amount: number): number {
    this.#large.set(place, (this.#large.get(place) ?? 0n) + BigInt(amount));
    return 0;
  }

  /** What groups are put in order by. */
  measure(group: number, measure: Exclude<LogMeasure, 'group'>): number | bigint {
    const place = group * STRIDE + AT[measure];
    return measure === 'cost' ? this.money(place) : (this.sums[place] as number);
  }
}

export function groupsByRow(
  segment: Segment,
  rows: Uint16Array,
  count: number,
  groups: Int32Array,
): Int32Array {
  const groupOf = new Int32Array(segment.count).fill(-1);
  for (let i = 0; i < count; i++) groupOf[rows[i] as number] = groups[i] as number;
  return groupOf;
}

export function classesOf(segment: Segment, scratch: Scratch): RowClasses {
  return {
    status: classOf(segment, 'statusCode', scratch, (code) => {
      const status = Number(code);
      return status >= 200 && status < 300 ? SUCCESS : status >= 400 ? ERROR : 0;
    }),
    cache: classOf(segment, 'cacheStatus', scratch, (status) =>
      status === 'HIT' ? HIT : status === 'SEMANTIC HIT' ? SEMANTIC : 0,
    ),
    retried: classOf(segment, 'retries', scratch, (retries) => (Number(retries) > 0 ? 1 : 0)),
    rescued: classOf(segment, 'rescued', scratch, () => 1),
  };
}

/** A small number for each row, by the text that it has in a column. */
function classOf(
  segment: Segment,
  name: TextName,
  scratch: Scratch,
  classify: (text: string) => number,
): Uint8Array {
  const classes = new Uint8Array(scratch.bytes(`${name}Classes`, segment.count), 0, segment.count);
  const column = segment.text(name);
  if (column === undefined) return classes.fill(0);
  const byId = new Uint8Array(column.size + 1);
  for (let id = 1; id <= column.size; id++) byId[id] = classify(segment.textOf(column, id));
  if (column.constant !== undefined) return classes.fill(byId[column.constant] as number);
  const ids = segment.ids(column, scratch.ids(name, segment.count));
  for (let row = 0; row < classes.length; row++) classes[row] = byId[ids[row] as number] as number;
  return classes;
}
