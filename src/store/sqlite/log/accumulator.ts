// Sums of groups in one typed array, a stretch for each group.
import type { LogMeasure } from '../../log/aggregation.ts';
import { CountTable } from './count-table.ts';
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

/** Histograms are counted under group x BUCKETS + bucket. */
export const BUCKETS = 2048;

const NO_CACHE = new Uint8Array(0);
const HIT = 1;
const SEMANTIC = 2;
const SUCCESS = 1;
const ERROR = 2;

/** What it is of rows that sums need. */
export interface RowClasses {
  readonly status: Uint8Array;
  readonly cache: Uint8Array;
  readonly retried: Uint8Array;
  readonly rescued: Uint8Array;
}

export class Accumulator {
  sums = new Float64Array(STRIDE * 64);
  readonly latencies = new CountTable();
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
      latencies.add(group * BUCKETS + (buckets[row] as number), 1);
    }
  }

  /** Adds what groups are put in order by, and nothing else. */
  addMeasure(
    measure: Exclude<LogMeasure, 'group'>,
    segment: Segment,
    rows: Uint16Array,
    count: number,
    groups: Int32Array,
    scratch: Scratch,
  ): void {
    const weights = segment.head.histograms ? segment.numbers('requests', scratch) : undefined;
    const values = this.#measured(measure, segment, scratch, weights);
    const { sums } = this;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const row = rows[i] as number;
      const place = group * STRIDE + AT[measure];
      const value = values === undefined ? 1 : (values[row] as number);
      if (measure === 'firstSeen') sums[place] = Math.min(sums[place] as number, value);
      else if (measure === 'lastSeen') sums[place] = Math.max(sums[place] as number, value);
      else {
        const sum = (sums[place] as number) + value;
        sums[place] = sum <= MONEY_EXACT || measure !== 'cost' ? sum : this.#carry(place, sum);
      }
    }
    if (measure === 'cost') this.#addLarge(segment, rows, count, groups, NO_CACHE);
  }

  /** Undefined: each row counts as one. */
  #measured(
    measure: Exclude<LogMeasure, 'group'>,
    segment: Segment,
    scratch: Scratch,
    weights: Float64Array | undefined,
  ): Float64Array | undefined {
    switch (measure) {
      case 'requests':
        return weights;
      case 'firstSeen':
        return segment.numbers(weights ? 'first' : 'time', scratch);
      case 'lastSeen':
        return segment.numbers(weights ? 'last' : 'time', scratch);
      case 'errors': {
        const { status } = classesOf(segment, scratch);
        return Float64Array.from(status, (code, row) => (code === ERROR ? (weights?.[row] ?? 1) : 0));
      }
      default:
        return segment.numbers(measure, scratch);
    }
  }

  #addSums(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array, scratch: Scratch): void {
    const requests = segment.numbers('requests', scratch);
    this.#addCounts(segment, rows, count, groups, scratch, classesOf(segment, scratch), requests);
    const firsts = segment.numbers('first', scratch);
    const lasts = segment.numbers('last', scratch);
    const { starts, pairs } = segment.histograms(scratch);
    const { sums } = this;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const row = rows[i] as number;
      const at = group * STRIDE;
      sums[at] = (sums[at] as number) + (requests[row] as number);
      sums[at + AT.firstSeen] = Math.min(sums[at + AT.firstSeen] as number, firsts[row] as number);
      sums[at + AT.lastSeen] = Math.max(sums[at + AT.lastSeen] as number, lasts[row] as number);
      for (let pair = starts[row] as number; pair < (starts[row + 1] as number); pair++) {
        this.latencies.add(group * BUCKETS + (pairs[pair * 2] as number), pairs[pair * 2 + 1] as number);
      }
    }
  }

  /** What rows of entries and rows of sums have alike; `weights`: entries of a row. */
  #addCounts(
    segment: Segment,
    rows: Uint16Array,
    count: number,
    groups: Int32Array,
    scratch: Scratch,
    classes: RowClasses,
    weights?: Float64Array,
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
      const weight = weights === undefined ? 1 : (weights[row] as number);
      const us = latency[row] as number;
      const code = status[row] as number;
      if (code === SUCCESS) sums[at + 1] = (sums[at + 1] as number) + weight;
      else if (code === ERROR) sums[at + 2] = (sums[at + 2] as number) + weight;
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
        sums[hits] = (sums[hits] as number) + weight;
        sums[at + 10] = (sums[at + 10] as number) + us;
        const spared = (sums[place] as number) + (saved[row] as number);
        sums[place] = spared <= MONEY_EXACT ? spared : this.#carry(place, spared);
      }
      if (retried[row] === 1) sums[at + 13] = (sums[at + 13] as number) + weight;
      if (rescued[row] === 1) sums[at + 14] = (sums[at + 14] as number) + weight;
    }
    this.#addLarge(segment, rows, count, groups, cache);
  }

  #addLarge(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array, cache: Uint8Array): void {
    const { largeCost, largeSaved } = segment.head;
    if (!largeCost && !largeSaved) return;
    const groupOf = new Int32Array(segment.count).fill(-1);
    for (let i = 0; i < count; i++) groupOf[rows[i] as number] = groups[i] as number;
    const each = (large: LargeMoney | undefined, placeOf: (row: number) => number): void => {
      for (const [row, amount] of large ?? []) {
        const place = placeOf(row);
        const group = groupOf[row] as number;
        if (group < 0 || place < 0) continue;
        const at = group * STRIDE + place;
        this.#large.set(at, (this.#large.get(at) ?? 0n) + amountOf(amount));
      }
    };
    each(largeCost, () => AT.cost);
    each(largeSaved, (row) =>
      cache[row] === HIT ? AT.saved : cache[row] === SEMANTIC ? AT.semanticSaved : -1,
    );
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

function classesOf(segment: Segment, scratch: Scratch): RowClasses {
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
