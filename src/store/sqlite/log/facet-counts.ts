// Facets of the log: each segment is narrowed to the matching rows once, and the numbers of its columns are counted as
// they are kept; what they stand for is looked up once for each value of a segment.
import type { LogDimension } from '../../log/aggregation.ts';
import type { LogFacetsQuestion, LogFacetValues } from '../../log/facets.ts';
import type { LogFilter } from '../../request-log.ts';
import { columnOf, dimensionColumn, numberAt } from './dimension-column.ts';
import { groupsOfPage } from './group-order.ts';
import { MetadataNames } from './metadata-names.ts';
import type { Segment } from './segment.ts';
import type { LogScope, SelectedRows, Selection } from './selection.ts';
import type { TextHead } from './text-column.ts';
import type { ValueCounts, ValueTable } from './value-table.ts';
import type { Part } from './view.ts';

export interface LogFacetsCall extends LogScope {
  readonly kind: 'facets';
  readonly filter: LogFilter;
  readonly question: LogFacetsQuestion;
}

export interface FacetRows {
  readonly values: readonly LogFacetValues['values'][];
  readonly metadataNames: readonly string[];
  /** Null: all entries are counted. */
  readonly countedFrom: number | null;
}

/** Values of a column whose counts over a whole segment are kept: segments do not change. */
const KEPT = 256;

/** @param isOver whether the time is over: what was counted until then is the answer. Newer segments come first. */
export function countFacets(
  parts: readonly Part[],
  { by, take, names: most }: LogFacetsQuestion,
  selection: Selection,
  isOver: () => boolean,
): FacetRows {
  const counts = by.map((dimension, i) => new FacetCounts(dimension, selection, `facet${i}`));
  const names = new MetadataNames(most, selection.scratch);
  const meant = parts.filter((part) => selection.overlaps(part)).sort((a, b) => b.maxTime - a.maxTime);
  let countedFrom: number | null = null;
  for (const [at, part] of meant.entries()) {
    if (at > 0 && isOver()) {
      countedFrom = part.maxTime + 1;
      break;
    }
    const segment = part.open();
    const selected = selection.rows(segment);
    if (selected.count === 0) continue;
    for (const count of counts) count.add(segment, selected);
    names.add(segment, selected);
  }
  return { values: counts.map((count) => count.most(take)), metadataNames: names.list, countedFrom };
}

/** How many rows have each value of a dimension. */
class FacetCounts {
  readonly #dimension: LogDimension;
  readonly #selection: Selection;
  readonly #name: string;
  readonly #table: ValueTable;
  /** The number of '', which is no value. */
  readonly #empty: number;
  #totals = new Float64Array(64);

  /** @param name of the room for its column in the selection's scratch */
  constructor(dimension: LogDimension, selection: Selection, name: string) {
    this.#dimension = dimension;
    this.#selection = selection;
    this.#name = name;
    this.#table = selection.values.of(dimension);
    this.#empty = this.#table.ofText('', selection.hash);
  }

  add(segment: Segment, selected: SelectedRows): void {
    const head = columnOf(this.#dimension, segment);
    const whole = selected.count === segment.count ? head : undefined;
    const { numbers, counts } =
      (whole && this.#table.countsOf(whole)) ?? this.#count(segment, selected, whole);
    for (let i = 0; i < numbers.length; i++) this.#addTo(numbers[i] as number, counts[i] as number);
  }

  /** @param whole the column, where all rows of the segment are meant */
  #count(segment: Segment, selected: SelectedRows, whole: TextHead | undefined): ValueCounts {
    const column = dimensionColumn(
      ...([this.#dimension, segment, this.#table, this.#selection, this.#name, selected.count] as const),
    );
    const { ids, places } = column;
    if (ids === undefined) {
      const number = numberAt(column, column.constant);
      return { numbers: Int32Array.of(number), counts: Uint32Array.of(selected.count) };
    }
    const all = countPlaces(ids, selected, places);
    const numbers = new Int32Array(places);
    let size = 0;
    for (let place = 0; place < places; place++) {
      const count = all[place] as number;
      if (count === 0) continue;
      numbers[size] = numberAt(column, place);
      all[size++] = count;
    }
    const found = { numbers: numbers.slice(0, size), counts: all.slice(0, size) };
    if (whole !== undefined && size <= KEPT) this.#table.keepCounts(whole, found);
    return found;
  }

  #addTo(number: number, count: number): void {
    if (number < 0 || number === this.#empty) return;
    if (number >= this.#totals.length) {
      const more = new Float64Array(Math.max(this.#table.size, this.#totals.length * 2));
      more.set(this.#totals);
      this.#totals = more;
    }
    this.#totals[number] = (this.#totals[number] as number) + count;
  }

  /** The most frequent values. */
  most(take: number): LogFacetValues['values'] {
    const totals = this.#totals;
    const seen: number[] = [];
    for (let number = 0; number < totals.length; number++)
      if ((totals[number] as number) > 0) seen.push(number);
    const numberOf = (group: number): number => seen[group] as number;
    const page = groupsOfPage(
      {
        size: seen.length,
        bucketOf: () => 0,
        pairOf: numberOf,
        textsOf: (number) => [this.#table.textOf(number)],
        prepare: (numbers) => this.#table.prepare(numbers),
      },
      { order: { measure: 'requests', direction: 'desc' }, take },
      (group) => totals[numberOf(group)] as number,
    );
    return page.map((group) => ({
      value: this.#table.textOf(numberOf(group)),
      requests: totals[numberOf(group)] as number,
    }));
  }
}

/** How many of the selected rows are at each place. */
function countPlaces(
  ids: Uint8Array | Uint16Array,
  { rows, count }: SelectedRows,
  places: number,
): Uint32Array {
  const counts = new Uint32Array(places);
  const first = rows[0] as number;
  if ((rows[count - 1] as number) - first === count - 1) countSpan(ids, first, first + count, counts);
  else
    for (let i = 0; i < count; i++) {
      const place = ids[rows[i] as number] as number;
      counts[place] = (counts[place] as number) + 1;
    }
  return counts;
}

/** Two counters for each place: rows of one value, which mostly follow each other, do not wait for one another. */
function countSpan(ids: Uint8Array | Uint16Array, from: number, to: number, counts: Uint32Array): void {
  const others = new Uint32Array(counts.length);
  let row = from;
  for (; row + 1 < to; row += 2) {
    const [a, b] = [ids[row] as number, ids[row + 1] as number];
    counts[a] = (counts[a] as number) + 1;
    others[b] = (others[b] as number) + 1;
  }
  if (row < to) {
    const last = ids[row] as number;
    counts[last] = (counts[last] as number) + 1;
  }
  for (let place = 0; place < others.length; place++)
    counts[place] = (counts[place] as number) + (others[place] as number);
}
