// A dimension in a segment: each row's place among few values, and the values' numbers over all segments.
import type { LogDimension } from '../../log/aggregation.ts';
import { type Condition, pairCondition, textCondition } from './conditions.ts';
import type { Hashes, Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import type { Selection } from './selection.ts';
import { UNKNOWN, type ValueTable } from './value-table.ts';

export interface DimensionColumn {
  /** Each row's place among the values; undefined: all rows are at `constant`. */
  readonly ids: Uint16Array | undefined;
  readonly constant: number;
  readonly places: number;
  /** The number of the value at a place over all segments; -1: in no group. Dear: to be asked once for each place. */
  numberAt(place: number): number;
}

const COLUMNS: Readonly<Record<LogDimension & string, TextName | undefined>> = {
  ...{ workspace: 'workspace', apiKey: 'apiKey', userId: 'userId', provider: 'provider', model: 'model' },
  ...{ virtualKey: 'virtualKey', config: 'config', prompt: 'prompt', statusCode: 'statusCode' },
  ...{ cacheStatus: 'cacheStatus', retries: 'retries', user: undefined },
};

/** The key of metadata that a dimension is, if it is one. */
export function metadataKey(dimension: LogDimension): string | undefined {
  if (typeof dimension === 'object') return dimension.metadata;
  return dimension === 'user' ? '_user' : undefined;
}

/** @param name of the room for it in the selection's scratch. */
export function dimensionColumn(
  dimension: LogDimension,
  segment: Segment,
  values: ValueTable,
  { scratch, hash }: Selection,
  name: string,
): DimensionColumn {
  const key = metadataKey(dimension);
  const none = key === undefined ? values.ofText('', hash) : -1;
  const column =
    key === undefined
      ? segment.text(COLUMNS[dimension as LogDimension & string] as TextName)
      : segment.metadata(key);
  if (column === undefined) {
    if (key !== undefined && segment.head.pairs) return pairColumn(key, segment, values, hash);
    return { ids: undefined, constant: 0, places: 1, numberAt: () => none };
  }
  const known = values.known(column);
  let hashes: Hashes | undefined;
  const numberAt = (place: number): number => {
    if (place === 0) return none;
    const number = known[place] as number;
    if (number !== UNKNOWN) return number;
    hashes ??= segment.hashes(column, hash, scratch, `${name}Hashes`);
    known[place] = values.ofHashes(segment, column, hashes, place - 1);
    return known[place] as number;
  };
  const places = column.size + 1;
  if (column.constant !== undefined) return { ids: undefined, constant: column.constant, places, numberAt };
  return { ids: segment.ids(column, scratch.ids(name, segment.count)), constant: 0, places, numberAt };
}

/** Rows whose value of a dimension is one of these. */
export function dimensionCondition(dimension: LogDimension, wanted: ReadonlySet<string>): Condition {
  const key = metadataKey(dimension);
  if (key !== undefined) return pairCondition(key, wanted);
  const name = COLUMNS[dimension as LogDimension & string] as TextName;
  return textCondition(name, (segment) => segment.text(name), wanted, wanted.has(''));
}

/** Of a key that has no column of its own. */
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
  const texts = [...places.keys()];
  const numberAt = (place: number): number =>
    place === 0 ? -1 : values.ofText(texts[place - 1] as string, hash);
  return { ids, constant: 0, places: places.size + 1, numberAt };
}
