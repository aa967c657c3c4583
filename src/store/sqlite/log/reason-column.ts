// The reasons of errors in segments of earlier versions, which have a column of the errors' messages alone: read from the
// entries themselves.
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { SegmentHead } from './segment-head.ts';
import type { TextHead } from './text-column.ts';

/** A segment of entries. */
interface Entries {
  readonly head: SegmentHead;
  readonly count: number;
  /** The entries' texts. */
  entries(rows: readonly number[]): string[];
  /** Each row's number in a column without a `constant`. */
  ids(column: TextHead, into: Uint16Array): Uint16Array;
}

/** The column as it would be now; undefined: no row has an error, or it is a segment of roll-ups. */
export function reasonColumn(segment: Entries): TextHead | undefined {
  const { texts, chunks } = segment.head;
  const { error } = texts;
  if (error === undefined || chunks === undefined) return undefined;
  const rows = failedRows(segment, error);
  const numbers = new Map<string, number>();
  const ids = new Uint16Array(segment.count);
  for (const [at, text] of segment.entries(rows).entries()) {
    const reason = (JSON.parse(text) as EntryTuple)[19]?.[0];
    if (reason === undefined) continue;
    const number = numbers.get(reason) ?? numbers.size + 1;
    numbers.set(reason, number);
    ids[rows[at] as number] = number;
  }
  const size = numbers.size;
  if (size === 0) return undefined;
  return { size, values: [...numbers.keys()], rows: size < 256 ? Uint8Array.from(ids) : ids };
}

function failedRows(segment: Entries, error: TextHead): number[] {
  const all = Array.from({ length: segment.count }, (_, row) => row);
  if (error.constant !== undefined) return error.constant === 0 ? [] : all;
  const ids = segment.ids(error, new Uint16Array(segment.count));
  return all.filter((row) => ids[row] !== 0);
}
