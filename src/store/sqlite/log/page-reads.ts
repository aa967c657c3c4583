// Pages of the log: segments from the newest (or oldest) on, their rows merged in order of time and arrival.
import { LIMITS } from '../../documents.ts';
import type { LogFilter } from '../../request-log.ts';
import type { LogScope, SelectedRows, Selection } from './selection.ts';
import { readsEntries } from './text-search.ts';
import type { Part } from './view.ts';

export interface LogPageCall extends LogScope {
  readonly kind: 'page';
  readonly filter: LogFilter;
  readonly order: 'asc' | 'desc';
  readonly skip: number;
  readonly take: number;
  readonly after: Position | null;
  readonly count: boolean;
}

/** The entry after which a page begins. */
export type Position = readonly [time: number, seq: number];

export interface LogRowPage {
  readonly entries: readonly string[];
  /** What was counted, up to the limit. */
  readonly total: number;
  /** There are more, or there may be. */
  readonly capped: boolean;
  readonly next: Position | null;
}

/** How long a page without a search may take, in milliseconds; after it the page is returned as far as it was read. */
const OTHER_MS = 2000;

/** Rows of one segment that are meant, in the page's order, and how far they are given out. */
interface Run {
  readonly part: Part;
  readonly rows: Uint16Array;
  readonly times: Float64Array;
  readonly seqs: Float64Array;
  at: number;
}

interface Found {
  readonly part: Part;
  readonly row: number;
  readonly position: Position;
}

/** A page that takes too long ends early, with a `next` to go on; so does its total. */
export function readPage(
  call: LogPageCall,
  parts: readonly Part[],
  selection: Selection,
  searchMs: number,
): LogRowPage {
  const pager = new Pager(call, selection);
  const sign = call.order === 'desc' ? -1 : 1;
  const edge = ({ minTime, maxTime }: Part): number => (sign < 0 ? -maxTime : minTime);
  const { text } = call.filter;
  const slow = text !== undefined && readsEntries(text);
  const meant = parts
    .filter((part) => selection.overlaps(part))
    .flatMap((part): readonly Slice[] => (slow ? slicesOf(part) : [part]))
    .sort((a, b) => edge(a) - edge(b));
  const { after } = call;
  const behind = meant.filter(
    ({ minTime, maxTime }) => after === null || (sign < 0 ? minTime <= after[0] : maxTime >= after[0]),
  );
  // Of entries that were searched those that are answered are read again.
  const textMs = slow ? searchMs * 0.8 : searchMs;
  const giveUpAt = performance.now() + (text === undefined ? OTHER_MS : textMs);
  const [first] = behind;
  const begin = after?.[0] ?? (first === undefined ? 0 : edge(first) * sign);
  for (const [at, part] of behind.entries()) {
    pager.take(part);
    const next = behind[at + 1];
    pager.give(next === undefined ? undefined : edge(next) * sign);
    if (pager.isDone()) return pager.page();
    if (next === undefined || performance.now() < giveUpAt) continue;
    // Segments that overlap begin at one time: a page that ended there would begin where this one did.
    const moved = (edge(next) * sign - begin) * sign > 0;
    if (!moved && !pager.isFull()) continue;
    return pager.isFull() ? pager.page(true) : pager.shortPage(edge(next) * sign);
  }
  if (!call.count || behind.length === meant.length) return pager.page();
  for (const part of meant) {
    if (behind.includes(part)) continue;
    if (pager.isDone() || performance.now() > giveUpAt) return pager.page(true);
    pager.count(part);
  }
  return pager.page();
}

/** Entries of a slice: they are read within a few milliseconds. */
const SLICE = 512;

/** A part, or a span of its time. */
interface Slice extends Part {
  readonly from?: number;
  readonly until?: number;
}

/** A part by spans of time, so that a search that reads entries can end within it. */
function slicesOf(part: Part): Slice[] {
  const { minTime, maxTime, count } = part;
  const length = Math.max(1, Math.ceil(((maxTime + 1 - minTime) * SLICE) / count));
  const slices: Slice[] = [];
  for (let from = minTime; from <= maxTime; from += length) {
    const until = Math.min(from + length, maxTime + 1);
    slices.push({ ...part, minTime: from, maxTime: until - 1, from, until });
  }
  return slices;
}

class Pager {
  readonly #call: LogPageCall;
  readonly #selection: Selection;
  readonly #sign: number;
  #runs: Run[] = [];
  #skip: number;
  #total = 0;
  readonly #found: Found[] = [];
  #more = false;

  constructor(call: LogPageCall, selection: Selection) {
    this.#call = call;
    this.#selection = selection;
    this.#sign = call.order === 'desc' ? -1 : 1;
    this.#skip = call.skip;
  }

  /** Finds the matching rows of a segment, or of a span of it. */
  take(part: Slice): void {
    const segment = part.open();
    const found = this.#rows(part);
    this.#total += found.count;
    if (found.count === 0 || this.#more) return;
    const { scratch } = this.#selection;
    const times = segment.numbers('time', scratch);
    const seqs = segment.numbers('seq', scratch);
    const rows = found.rows.slice(0, found.count);
    if (this.#sign < 0) rows.reverse();
    const run: Run = {
      part,
      rows,
      at: 0,
      times: Float64Array.from(rows, (row) => times[row] as number),
      seqs: Float64Array.from(rows, (row) => seqs[row] as number),
    };
    const { after } = this.#call;
    if (after !== null) while (run.at < rows.length && !this.#isBehind(run, after)) run.at++;
    if (run.at < rows.length) this.#runs.push(run);
  }

  /** Gives out what nothing in segments that begin at a time can come before. */
  give(edge: number | undefined): void {
    while (!this.#more) {
      const run = this.#first();
      if (run === undefined) return;
      const time = run.times[run.at] as number;
      if (edge !== undefined && (time - edge) * this.#sign >= 0) return;
      if (this.#skip > 0) this.#skip--;
      else if (this.#found.length < this.#call.take) this.#found.push(foundAt(run));
      else this.#more = true;
      if (++run.at === run.rows.length) this.#runs = this.#runs.filter((other) => other !== run);
    }
  }

  count(part: Slice): void {
    this.#total += this.#rows(part).count;
  }

  #rows(part: Slice): SelectedRows {
    const { from, until } = part;
    const segment = part.open();
    if (from === undefined || until === undefined) return this.#selection.rows(segment);
    return this.#selection.rowsWithin(segment, from, until);
  }

  /** Whether the page is full, and more entries follow. */
  isFull(): boolean {
    return this.#more;
  }

  /** Whether the answer is final. */
  isDone(): boolean {
    return this.#more && (!this.#call.count || this.#total > LIMITS.total);
  }

  /** @param capped there are more than were counted. */
  page(capped = false): LogRowPage {
    const next = this.#more ? (this.#found.at(-1)?.position ?? null) : null;
    return this.#answer(next, capped);
  }

  /** What there is before a time at which the search was given up. */
  shortPage(edge: number): LogRowPage {
    const before = this.#sign < 0 ? Number.MAX_SAFE_INTEGER : -1;
    return this.#answer([edge, before], true);
  }

  #answer(next: Position | null, early: boolean): LogRowPage {
    const { count } = this.#call;
    const rows = new Map<Part, number[]>();
    for (const { part, row } of this.#found) {
      const own = rows.get(part);
      if (own) own.push(row);
      else rows.set(part, [row]);
    }
    const texts = new Map([...rows].map(([part, own]) => [part, part.open().entries(own).values()]));
    const entries = this.#found.map(({ part }) => texts.get(part)?.next().value ?? '');
    const total = count ? Math.min(this.#total, LIMITS.total) : 0;
    return { entries, next, total, capped: count && (early || this.#total > LIMITS.total) };
  }

  #first(): Run | undefined {
    let first: Run | undefined;
    for (const run of this.#runs) {
      if (first === undefined || compare(run, first) * this.#sign < 0) first = run;
    }
    return first;
  }

  #isBehind(run: Run, [time, seq]: Position): boolean {
    const own = run.times[run.at] as number;
    return ((own - time || (run.seqs[run.at] as number) - seq) as number) * this.#sign > 0;
  }
}

function compare(a: Run, b: Run): number {
  const time = (a.times[a.at] as number) - (b.times[b.at] as number);
  return time || (a.seqs[a.at] as number) - (b.seqs[b.at] as number);
}

function foundAt(run: Run): Found {
  const { part, rows, times, seqs, at } = run;
  return { part, row: rows[at] as number, position: [times[at] as number, seqs[at] as number] };
}
