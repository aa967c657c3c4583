// Text search in a segment: in the distinct texts of the columns that are searched, then the rows that have them.

import { decodeEntry } from '../../log/entry-text.ts';
import { matchesLog } from '../../log/matches.ts';
import { rowsOverBreaks, SEARCHED_PARTS } from './break-search.ts';
import { type Condition, keepRows } from './conditions.ts';
import type { Scratch, Segment } from './segment.ts';
import type { TextHead } from './text-column.ts';

/** Whether only whole entries can tell: over the end of a part, and of half a surrogate, which is no UTF-8. */
export function readsEntries(text: string): boolean {
  return text.includes('\n') || !text.toLowerCase().isWellFormed();
}

export function searchCondition(text: string): Condition {
  const needle = text.toLowerCase();
  if (readsEntries(text)) return entryCondition(text, needle);
  return (segment, scratch) => {
    const meant = new Uint8Array(segment.count);
    return markFound(segment, needle, meant, scratch)
      ? (rows, count) => keepRows(rows, count, meant)
      : 'none';
  };
}

/** Marks the rows in whose parts a text is found; false: there are none. */
function markFound(segment: Segment, needle: string, meant: Uint8Array, scratch: Scratch): boolean {
  const bytes = Buffer.from(needle, 'utf8');
  const columns: TextHead[] = segment.head.metadata.map(([, column]) => column);
  for (const name of SEARCHED_PARTS) {
    const column = segment.text(name);
    if (column) columns.push(column);
  }
  let found = false;
  for (const column of columns) {
    const flags = segment.search(column, needle, bytes, scratch);
    if (!flags) continue;
    found = true;
    markRows(segment, column, flags, meant, scratch);
  }
  for (const [row, , value] of segment.pairs()) {
    if (!value.toLowerCase().includes(needle)) continue;
    meant[row] = 1;
    found = true;
  }
  return found;
}

function entryCondition(text: string, needle: string): Condition {
  // A segment is asked for slice by slice.
  let last: { readonly segment: Segment; readonly meant: Uint8Array | undefined } | undefined;
  return (segment, scratch) => {
    if (last?.segment !== segment) {
      const meant = rowsOverBreaks(needle, segment, scratch);
      if (meant) markFound(segment, needle, meant, scratch);
      last = { segment, meant };
    }
    const { meant } = last;
    return (rows, count) => keepByEntry(segment, text, rows, meant ? keepRows(rows, count, meant) : count);
  };
}

function markRows(
  segment: Segment,
  column: TextHead,
  flags: Uint8Array,
  meant: Uint8Array,
  scratch: Scratch,
): void {
  if (column.constant !== undefined) {
    if (flags[column.constant] === 1) meant.fill(1);
    return;
  }
  const ids = segment.packedIds(column, scratch, 'searched');
  for (let row = 0; row < meant.length; row++) if (flags[ids[row] as number] === 1) meant[row] = 1;
}

function keepByEntry(segment: Segment, text: string, rows: Uint16Array, count: number): number {
  const texts = segment.entries(Array.from(rows.subarray(0, count)));
  let kept = 0;
  for (let i = 0; i < count; i++) {
    if (matchesLog({ text }, decodeEntry(texts[i] ?? ''))) rows[kept++] = rows[i] as number;
  }
  return kept;
}
