// What rows of entries count as, by the text that they have in a column.
import type { Scratch, Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';

/** Classes are bits: 1 is a success, 2 an error. */
export const SUCCESS = 1;
export const ERROR = 2;
export const STATUS_CLASSES = (code: string): number => {
  const status = Number(code);
  return status >= 200 && status < 300 ? SUCCESS : status >= 400 ? ERROR : 0;
};

export const HIT = 1;
export const SEMANTIC = 2;
export const CACHE_CLASSES = (status: string): number =>
  status === 'HIT' ? HIT : status === 'SEMANTIC HIT' ? SEMANTIC : 0;

export const RETRIED = (retries: string): number => (Number(retries) > 0 ? 1 : 0);
export const RESCUED = (): number => 1;

/** Each row's number in a column, and whether that number counts (1) or not (0). */
export interface RowFlags {
  readonly ids: Uint8Array | Uint16Array;
  readonly flags: Uint8Array;
}

/** Which rows are of any of the wanted classes. */
export function rowFlags(
  segment: Segment,
  name: TextName,
  classify: (text: string) => number,
  wanted: number,
  scratch: Scratch,
): RowFlags | 'all' | 'none' {
  const column = segment.text(name);
  if (column === undefined) return 'none';
  const flags = new Uint8Array(column.size + 1);
  let counting = 0;
  const texts = segment.allTexts(column);
  for (let id = 1; id <= column.size; id++) {
    if ((classify(texts[id - 1] as string) & wanted) === 0) continue;
    flags[id] = 1;
    counting++;
  }
  if (column.constant !== undefined) return flags[column.constant] === 1 ? 'all' : 'none';
  if (counting === 0) return 'none';
  return { ids: segment.packedIds(column, scratch, name), flags };
}
