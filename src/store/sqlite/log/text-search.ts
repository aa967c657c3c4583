// Text search in a segment: in the distinct texts of the columns that are searched, then the rows that have them.

import { decodeEntry } from '../../log/entry-text.ts';
import { matchesLog } from '../../log/matches.ts';
import { type Condition, keepRows } from './conditions.ts';
import type { Scratch, Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import type { TextHead } from './text-column.ts';

const COLUMNS: readonly TextName[] = ['path', 'provider', 'model', 'responseModel', 'error', 'traceId', 'id'];

export function searchCondition(text: string): Condition {
  const needle = text.toLowerCase();
  const bytes = Buffer.from(needle, 'utf8');
  // Over the end of a part only whole entries can tell; half a surrogate is no UTF-8.
  if (needle.includes('\n') || !needle.isWellFormed()) return (segment) => keepByEntry(segment, text);
  return (segment, scratch) => {
    const columns: TextHead[] = segment.head.metadata.map(([, column]) => column);
    for (const name of COLUMNS) {
      const column = segment.text(name);
      if (column) columns.push(column);
    }
    const meant = new Uint8Array(segment.count);
    let any = false;
    for (const column of columns) {
      const flags = segment.search(column, needle, bytes, scratch);
      if (!flags) continue;
      any = true;
      markRows(segment, column, flags, meant, scratch);
    }
    for (const [row, , value] of segment.pairs()) {
      if (!value.toLowerCase().includes(needle)) continue;
      meant[row] = 1;
      any = true;
    }
    return any ? (rows, count) => keepRows(rows, count, meant) : 'none';
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

function keepByEntry(segment: Segment, text: string): ReturnType<Condition> {
  return (rows, count) => {
    const texts = segment.entries(Array.from(rows.subarray(0, count)));
    let kept = 0;
    for (let i = 0; i < count; i++) {
      if (matchesLog({ text }, decodeEntry(texts[i] ?? ''))) rows[kept++] = rows[i] as number;
    }
    return kept;
  };
}
