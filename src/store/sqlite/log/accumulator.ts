// Totals of groups: a column for each of them, added up one column of a segment at a time.
import type { LogMeasure } from '../../log/aggregation.ts';
import { FirstTokenTotals } from './first-token-totals.ts';
import {
  type Addend,
  addBounds,
  addCounts,
  addFlagged,
  addTogether,
  eachRow,
  type GroupedRows,
  keepFlagged,
} from './grouped-rows.ts';
import { Histograms } from './histograms.ts';
import { CACHE_CLASSES, HIT, RESCUED, RETRIED, rowFlags, SEMANTIC, STATUS_CLASSES } from './row-classes.ts';
import type { Scratch, Segment } from './segment.ts';
import { SumColumn } from './sum-column.ts';

/** Positions of a group's totals. */
export const AT = {
  requests: 0,
  successes: 1,
  errors: 2,
  cost: 3,
  promptTokens: 4,
  completionTokens: 5,
  totalTokens: 6,
  latencyUs: 7,
  cacheHits: 8,
  semanticHits: 9,
  cacheLatencyUs: 10,
  saved: 11,
  semanticSaved: 12,
  retried: 13,
  rescued: 14,
  firstSeen: 15,
  lastSeen: 16,
} as const;
export const STRIDE = 17;
export const MONEY = ['cost', 'saved', 'semanticSaved'] as const;

/** The columns of roll-ups that are added as they are, without money. */
const ADDED = [
  ...(['requests', 'successes', 'errors', 'promptTokens', 'completionTokens', 'totalTokens'] as const),
  ...(['latencyUs', 'cacheHits', 'semanticHits', 'cacheLatencyUs', 'retried', 'rescued'] as const),
];
/** The same of entries. */
const OF_ENTRIES = ['promptTokens', 'completionTokens', 'totalTokens', 'latencyUs'] as const;

/** Counts of entries by the value of a text column. */
const FLAGS = [
  ['statusCode', AT.successes, STATUS_CLASSES, 1],
  ['statusCode', AT.errors, STATUS_CLASSES, 2],
  ['retries', AT.retried, RETRIED, 1],
  ['rescued', AT.rescued, RESCUED, 1],
] as const;

/** Classes of hits, what they are counted in, and what they saved. */
const HITS = [
  [HIT, AT.cacheHits, AT.saved],
  [SEMANTIC, AT.semanticHits, AT.semanticSaved],
] as const;

export class Accumulator {
  /** Histograms of latencies; undefined: not requested. */
  readonly latencies: Histograms | undefined;
  /** Undefined: not requested. */
  readonly firstTokens: FirstTokenTotals | undefined;
  readonly #columns = Array.from(
    { length: STRIDE },
    (_, place) => new SumColumn(place === AT.firstSeen ? Number.MAX_SAFE_INTEGER : 0),
  );
  #groups = 0;

  constructor(latencies: boolean, firstTokens: boolean) {
    this.latencies = latencies ? new Histograms() : undefined;
    this.firstTokens = firstTokens ? new FirstTokenTotals() : undefined;
  }

  /** A sum; of money, what of it is not in `largeOf`. */
  sum(group: number, place: number): number {
    return this.#column(place).values[group] as number;
  }

  /** The same of all groups. */
  sumsOf(place: number): Float64Array {
    return this.#values(place);
  }

  /** Money of a sum that its number does not hold. */
  largeOf(group: number, place: number): bigint | undefined {
    return this.#column(place).largeOf(group);
  }

  /** Money at a place, exactly. */
  money(group: number, place: number): bigint {
    return BigInt(this.#column(place).money(group));
  }

  /** What groups are put in order by. */
  measure(group: number, measure: Exclude<LogMeasure, 'group'>): number | bigint {
    return measure === 'cost' ? this.#column(AT.cost).money(group) : this.sum(group, AT[measure]);
  }

  /** Makes room for so many groups. */
  grow(groups: number): void {
    if (groups <= this.#groups) return;
    this.#groups = groups;
    this.latencies?.grow(groups);
    this.firstTokens?.grow(groups);
    for (const column of this.#columns) column.grow(groups);
  }

  /** Adds rows, each to its group. */
  add(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    if (grouped.count === 0) return;
    if (segment.head.histograms) this.#addRollups(segment, grouped, scratch);
    else this.#addEntries(segment, grouped, scratch);
  }

  #addRollups(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    for (const name of ADDED) this.#column(AT[name]).add(segment, name, grouped, scratch);
    const { largeCost, largeSaved, largeSemanticSaved } = segment.head;
    const large = { cost: largeCost, saved: largeSaved, semanticSaved: largeSemanticSaved };
    for (const name of MONEY) this.#column(AT[name]).addMoney(segment, name, large[name], grouped, scratch);
    const firsts = segment.numbers('firstSeen', scratch);
    const lasts = segment.numbers('lastSeen', scratch);
    addBounds(this.#values(AT.firstSeen), this.#values(AT.lastSeen), grouped, firsts, lasts);
    this.firstTokens?.addRollups(segment, grouped, scratch);
    const { latencies } = this;
    if (latencies === undefined) return;
    const { starts, pairs } = segment.histograms(scratch);
    eachRow(grouped, (row, group) => {
      latencies.addPairs(group, pairs, starts[row] as number, starts[row + 1] as number);
    });
  }

  #addEntries(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const cost = this.#column(AT.cost);
    if (grouped.runs === undefined && cost.hasRoom(segment, 'cost', grouped.count, scratch)) {
      this.#addTogether(segment, grouped, scratch);
      cost.addLargeAmounts(segment.head.largeCost, grouped);
    } else {
      addCounts(this.#values(AT.requests), grouped, 1);
      for (const name of OF_ENTRIES) this.#column(AT[name]).add(segment, name, grouped, scratch);
      cost.addMoney(segment, 'cost', segment.head.largeCost, grouped, scratch);
    }
    for (const [name, place, classes, wanted] of FLAGS) {
      const flags = rowFlags(segment, name, classes, wanted, scratch);
      if (flags === 'all') addCounts(this.#values(place), grouped, 1);
      else if (flags !== 'none') addFlagged(this.#values(place), grouped, flags);
    }
    this.#addTimes(segment, grouped, scratch);
    this.#addHits(segment, grouped, scratch);
    this.firstTokens?.addEntries(segment, grouped, scratch);
    this.latencies?.addRows(grouped, segment.packed('latencyBucket', scratch));
  }

  #addTogether(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const addend = (name: (typeof OF_ENTRIES)[number] | 'cost'): Addend => {
      return { totals: this.#values(AT[name]), numbers: segment.packed(name, scratch) };
    };
    const [prompt, completion, total, latency] = OF_ENTRIES;
    const addends = [
      addend(prompt),
      addend(completion),
      addend(total),
      addend(latency),
      addend('cost'),
    ] as const;
    const zeros = new Uint8Array(scratch.bytes('zeros', segment.count));
    addTogether(grouped, this.#values(AT.requests), addends, zeros);
  }

  #addTimes(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const times = segment.numbers('time', scratch);
    const [firsts, lasts] = [this.#values(AT.firstSeen), this.#values(AT.lastSeen)];
    const { rows, runs } = grouped;
    if (runs === undefined) {
      addBounds(firsts, lasts, grouped, times, times);
      return;
    }
    // Rows rise in time.
    for (const { from, to, group } of runs) {
      const [first, last] = [times[rows[from] as number] as number, times[rows[to - 1] as number] as number];
      if (first < (firsts[group] as number)) firsts[group] = first;
      if (last > (lasts[group] as number)) lasts[group] = last;
    }
  }

  /** Adds what the entries that were answered from the cache saved. */
  #addHits(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const flagged = rowFlags(segment, 'cacheStatus', CACHE_CLASSES, HIT | SEMANTIC, scratch);
    if (flagged === 'none') return;
    const all = flagged === 'all' ? grouped : keepFlagged(grouped, flagged, scratch, 'hits');
    this.#column(AT.cacheLatencyUs).add(segment, 'latencyUs', all, scratch);
    for (const [wanted, hits, saved] of HITS) {
      const flags = rowFlags(segment, 'cacheStatus', CACHE_CLASSES, wanted, scratch);
      if (flags === 'none') continue;
      const own = flags === 'all' ? all : keepFlagged(all, flags, scratch, 'class of hits');
      addCounts(this.#values(hits), own, 1);
      this.#column(saved).addMoney(segment, 'saved', segment.head.largeSaved, own, scratch);
    }
  }

  #column(place: number): SumColumn {
    return this.#columns[place] as SumColumn;
  }

  #values(place: number): Float64Array {
    return this.#column(place).values;
  }
}
