// A search in bodies: the rows that a filter means in order of time, each held against the text by what its segment's
// columns say of it, and if they say no by what was said in its request.
import type { SearchSlice, SliceAsk } from '../../log/body-search.ts';
import { bodiesHold } from '../../log/body-text.ts';
import type { LogFilter } from '../../request-log.ts';
import type { BodyReader } from './body-reader.ts';
import type { Position } from './page-reads.ts';
import type { Segment } from './segment.ts';
import type { LogScope, Selection } from './selection.ts';
import type { Part } from './view.ts';

export interface LogSearchCall extends LogScope, SliceAsk<Position> {
  readonly kind: 'search';
  readonly order: 'asc' | 'desc';
  /** With a text. */
  readonly filter: LogFilter;
  /** Whose bodies are searched: without one. */
  readonly bodyFilter: LogFilter;
}

export type LogSlice = SearchSlice<Position, string>;

/** Rows of one part, in the search's order, and how far they were looked at. */
interface Run {
  readonly part: Part;
  readonly rows: readonly number[];
  /** By row: the columns have the text. */
  readonly found: Uint8Array;
  readonly times: Float64Array;
  readonly seqs: Float64Array;
  readonly idOf: (row: number) => string;
  at: number;
}

/**
 * Looks until there are so many matches, or time or bytes are used up.
 * @param texts what the columns answer. @param within whose bodies are searched. Both use one scratch
 */
export function searchBodies(
  call: LogSearchCall,
  parts: readonly Part[],
  texts: Selection,
  within: Selection,
  bodies: BodyReader,
): LogSlice {
  const giveUpAt = performance.now() + call.ms;
  const sign = call.order === 'desc' ? -1 : 1;
  const needle = (call.filter.text ?? '').toLowerCase();
  const walk = new RowWalk(call, parts, texts, within);
  const taken: { readonly part: Part; readonly row: number }[] = [];
  let matched = 0;
  let last: Position | undefined;
  const answer = (at: Position | undefined): LogSlice => {
    const entries = taken.map(({ part, row }) => part.open().entries([row])[0] ?? '');
    return { entries, last, matched, at, bytes: bodies.bytes };
  };
  const isOver = (): boolean => bodies.bytes >= call.bytes || performance.now() > giveUpAt;
  for (;;) {
    const edge = walk.open();
    const run = walk.first();
    if (run === undefined) {
      if (edge === undefined) return answer(undefined);
      // Parts that begin at one time are looked at together: else the next slice would begin where this one did.
      if (isOver() && (call.after === undefined || (edge - call.after[0]) * sign > 0))
        return answer([edge, sign < 0 ? Number.MAX_SAFE_INTEGER : -1]);
      walk.openNext();
      continue;
    }
    const position = walk.position(run);
    const row = run.rows[run.at++] as number;
    const record = run.found[row] ? undefined : bodies.find(call.org, run.idOf(row), position[0]);
    if (run.found[row] || (record && bodiesHold(record, needle))) {
      matched++;
      if (matched > call.skip && taken.length < call.take) {
        taken.push({ part: run.part, row });
        last = position;
      }
    }
    if (matched >= call.limit || isOver()) return answer(position);
  }
}

/** Rows of many parts in one order of time and arrival. */
class RowWalk {
  readonly #call: LogSearchCall;
  readonly #texts: Selection;
  readonly #within: Selection;
  readonly #sign: number;
  readonly #parts: Part[];
  #runs: Run[] = [];

  constructor(call: LogSearchCall, parts: readonly Part[], texts: Selection, within: Selection) {
    const { after, order } = call;
    this.#call = call;
    this.#texts = texts;
    this.#within = within;
    this.#sign = order === 'desc' ? -1 : 1;
    this.#parts = parts
      .filter((part) => texts.overlaps(part))
      .filter(
        ({ minTime, maxTime }) =>
          after === undefined || (order === 'desc' ? minTime <= after[0] : maxTime >= after[0]),
      )
      .sort((a, b) => (this.#edge(a) - this.#edge(b)) * this.#sign);
  }

  /** Opens the parts that may have rows before the first one at hand; answers where the next part begins. */
  open(): number | undefined {
    for (;;) {
      const [next] = this.#parts;
      const edge = next && this.#edge(next);
      const run = this.first();
      if (edge === undefined || run === undefined) return edge;
      if (((run.times[run.at] as number) - edge) * this.#sign < 0) return edge;
      this.openNext();
    }
  }

  openNext(): void {
    const part = this.#parts.shift();
    const run = part && this.#runOf(part);
    if (run && run.at < run.rows.length) this.#runs.push(run);
  }

  /** The part whose next row is the first of all. */
  first(): Run | undefined {
    let first: Run | undefined;
    for (const run of this.#runs) {
      if (run.at === run.rows.length) continue;
      if (first === undefined || this.#compare(this.position(run), this.position(first)) < 0) first = run;
    }
    if (this.#runs.some(({ at, rows }) => at === rows.length))
      this.#runs = this.#runs.filter(({ at, rows }) => at < rows.length);
    return first;
  }

  position({ times, seqs, at }: Run): Position {
    return [times[at] as number, seqs[at] as number];
  }

  #edge({ minTime, maxTime }: Part): number {
    return this.#sign < 0 ? maxTime : minTime;
  }

  #compare(a: Position, b: Position): number {
    return (a[0] - b[0] || a[1] - b[1]) * this.#sign;
  }

  #runOf(part: Part): Run {
    const segment = part.open();
    const found = new Uint8Array(segment.count);
    const marked = this.#texts.rows(segment);
    for (let i = 0; i < marked.count; i++) found[marked.rows[i] as number] = 1;
    const searched = this.#within.rows(segment);
    const meant = found.slice();
    for (let i = 0; i < searched.count; i++) meant[searched.rows[i] as number] = 1;
    const rows: number[] = [];
    for (let row = 0; row < meant.length; row++) if (meant[row] === 1) rows.push(row);
    if (this.#sign < 0) rows.reverse();
    const { scratch } = this.#texts;
    const wide = (name: 'time' | 'seq'): Float64Array => {
      const numbers = segment.numbers(name, scratch);
      return Float64Array.from(rows, (row) => numbers[row] as number);
    };
    const run: Run = {
      part,
      rows,
      found,
      times: wide('time'),
      seqs: wide('seq'),
      idOf: idsOf(segment, this.#texts),
      at: 0,
    };
    const { after } = this.#call;
    if (after !== undefined)
      while (run.at < rows.length && this.#compare(this.position(run), after) <= 0) run.at++;
    return run;
  }
}

/** The ids of rows, read when the first is asked for. */
function idsOf(segment: Segment, { scratch }: Selection): (row: number) => string {
  let read: ((row: number) => string) | undefined;
  return (row) => {
    read ??= readIds(segment, scratch);
    return read(row);
  };
}

function readIds(segment: Segment, scratch: Selection['scratch']): (row: number) => string {
  const column = segment.text('id');
  if (column === undefined) return () => '';
  const texts = segment.allTexts(column);
  const { constant } = column;
  if (constant !== undefined) return () => texts[constant - 1] ?? '';
  const numbers = segment.packedIds(column, scratch, 'ids of bodies').slice();
  return (row) => texts[(numbers[row] as number) - 1] ?? '';
}
