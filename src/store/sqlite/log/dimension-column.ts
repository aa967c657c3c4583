// A dimension in a segment: each row's place among few values, and the values' numbers over all segments.
import type { LogDimension } from '../../log/aggregation.ts';
import { type Condition, pairCondition, textCondition } from './conditions.ts';
import type { Hashes, Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import type { Selection } from './selection.ts';
import type { TextHead } from './text-column.ts';
import { UNKNOWN, type ValueTable } from './value-table.ts';

export interface DimensionColumn {
  /** Each row's place among the values; undefined: all rows are at `constant`. */
  readonly ids: Uint8Array | Uint16Array | undefined;
  readonly constant: number;
  readonly places: number;
  /** The number of the value at each place over all segments; -1: in no group; UNKNOWN: not looked up yet. */
  readonly numbers: Int32Array;
  /** Looks a number up. */
  look(place: number): number;
}

/** The number of the value at a place. */
export function numberAt({ numbers, look }: DimensionColumn, place: number): number {
  const number = numbers[place] as number;
  return number === UNKNOWN ? look(place) : number;
}

const COLUMNS: Readonly<Record<LogDimension & string, TextName | undefined>> = {
  workspace: 'workspace',
  apiKey: 'apiKey',
  userId: 'userId',
  provider: 'provider',
  model: 'model',
  virtualKey: 'virtualKey',
  config: 'config',
  prompt: 'prompt',
  statusCode: 'statusCode',
  cacheStatus: 'cacheStatus',
  retries: 'retries',
  errorReason: 'errorReason',
  user: undefined,
};

/** The key of metadata that a dimension is, if it is one. */
export function metadataKey(dimension: LogDimension): string | undefined {
  if (typeof dimension === 'object') return dimension.metadata;
  return dimension === 'user' ? '_user' : undefined;
}

/** Whether rows without a value are in no group of a dimension; else they are in the group ''. */
function isInNoGroup(dimension: LogDimension): boolean {
  return dimension === 'errorReason' || metadataKey(dimension) !== undefined;
}

/**
 * @param name of the room for it in the selection's scratch
 * @param meant how many rows are meant: of most of them all values are looked up at once, in the order in which they lie
 */
export function dimensionColumn(
  dimension: LogDimension,
  segment: Segment,
  values: ValueTable,
  { scratch, hash }: Selection,
  name: string,
  meant = 0,
): DimensionColumn {
  const key = metadataKey(dimension);
  const none = isInNoGroup(dimension) ? -1 : values.ofText('', hash);
  const column = columnOf(dimension, segment);
  if (column === undefined) {
    if (key !== undefined && segment.head.pairs) return pairColumn(key, segment, values, hash);
    return { ids: undefined, constant: 0, places: 1, ...known([none]) };
  }
  const numbers = values.known(column, none);
  let hashes: Hashes | undefined;
  const look = (place: number): number => {
    hashes ??= segment.hashes(column, hash, scratch, `${name}Hashes`);
    const number = values.ofHashes(segment, column, hashes, place - 1);
    numbers[place] = number;
    return number;
  };
  const places = column.size + 1;
  if (meant * 2 > segment.count && numbers[1] === UNKNOWN) {
    for (let place = 1; place < places; place++) if (numbers[place] === UNKNOWN) look(place);
  }
  if (column.constant !== undefined)
    return { ids: undefined, constant: column.constant, places, numbers, look };
  return { ids: segment.packedIds(column, scratch, name), constant: 0, places, numbers, look };
}

/** The column that a dimension has in a segment; undefined: no row has a value, or those of its key are in no column. */
export function columnOf(dimension: LogDimension, segment: Segment): TextHead | undefined {
  const key = metadataKey(dimension);
  if (key !== undefined) return segment.metadata(key);
  return segment.text(COLUMNS[dimension as LogDimension & string] as TextName);
}

/** Rows whose value of a dimension is one of these. */
export function dimensionCondition(dimension: LogDimension, wanted: ReadonlySet<string>): Condition {
  const key = metadataKey(dimension);
  if (key !== undefined) return pairCondition(key, wanted);
  const name = COLUMNS[dimension as LogDimension & string] as TextName;
  return textCondition(
    name,
    (segment) => segment.text(name),
    wanted,
    wanted.has('') && !isInNoGroup(dimension),
  );
}

/** The column of a metadata key that has no column of its own. */
function pairColumn(
  key: string,
  segment: Segment,
  values: ValueTable,
  hash: Selection['hash'],
): DimensionColumn {
  const ids = new Uint16Array(segment.count);
  const places = new Map<string, number>();
  for (const [row, other, value] of segment.pairs()) {
    if (other !== key) continue;
    const place = places.get(value) ?? places.size + 1;
    places.set(value, place);
    ids[row] = place;
  }
  const numbers = [...places.keys()].map((text) => values.ofText(text, hash));
  return { ids, constant: 0, places: places.size + 1, ...known([-1, ...numbers]) };
}

function known(numbers: readonly number[]): Pick<DimensionColumn, 'numbers' | 'look'> {
  return { numbers: Int32Array.from(numbers), look: (place) => numbers[place] as number };
}
