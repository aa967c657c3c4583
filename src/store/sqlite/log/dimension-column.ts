// A dimension in a segment: each row's place among few values, and the values' numbers over all segments.
import type { LogDimension } from '../../log/aggregation.ts';
import type { Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import type { Selection } from './selection.ts';
import type { ValueTable } from './value-table.ts';

export interface DimensionColumn {
  /** Each row's place in `numbers`; undefined: all rows are at `constant`. */
  readonly ids: Uint16Array | undefined;
  readonly constant: number;
  /** Numbers of values; -1: in no group. */
  readonly numbers: Int32Array;
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
    return { ids: undefined, constant: 0, numbers: Int32Array.of(none) };
  }
  const numbers = values.ofColumn(segment, column, hash, scratch, `${name}Hashes`);
  numbers[0] = none;
  if (column.constant !== undefined) return { ids: undefined, constant: column.constant, numbers };
  return { ids: segment.ids(column, scratch.ids(name, segment.count)), constant: 0, numbers };
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
  const numbers = new Int32Array(places.size + 1).fill(-1);
  for (const [value, place] of places) numbers[place] = values.ofText(value, hash);
  return { ids, constant: 0, numbers };
}
