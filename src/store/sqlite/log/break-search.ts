// Text search over line breaks, which part the texts that are searched of an entry: which rows it can mean. What an
// entry says as a whole is for the entry to tell; here nearly all of them are ruled out by where texts begin and end.
import type { Scratch, Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import type { TextHead } from './text-column.ts';

/** The parts of an entry that are searched, in order; metadata follows. */
export const SEARCHED_PARTS: readonly TextName[] = [
  ...(['id', 'traceId', 'path', 'provider', 'model', 'responseModel', 'error'] as const),
];

/** Breaks of a text from which on no row is ruled out. */
const MOST_BREAKS = 8;

/** Marks the rows in which a text of lower case may be found over the end of a part; undefined: any may have it. */
export function rowsOverBreaks(needle: string, segment: Segment, scratch: Scratch): Uint8Array | undefined {
  const pieces = needle.split('\n');
  if (pieces.length > MOST_BREAKS + 1 || !needle.isWellFormed()) return undefined;
  const meant = new Uint8Array(segment.count);
  for (let at = 1; at < pieces.length; at++) {
    markAdjacent(pieces.slice(0, at).join('\n'), pieces.slice(at).join('\n'), segment, scratch, meant);
  }
  return meant;
}

/** Rows of which one part ends with a text, and the next one begins with the other. */
function markAdjacent(
  left: string,
  right: string,
  segment: Segment,
  scratch: Scratch,
  meant: Uint8Array,
): void {
  const ends = (text: string): boolean => text.endsWith(left);
  // A short part may be contained in the needle.
  const begins = (text: string): boolean => text.startsWith(right) || right.startsWith(`${text}\n`);
  const flagged = (column: TextHead | undefined, test: (text: string) => boolean): Uint8Array =>
    rowsOf(segment, column, scratch, test);
  let before: Uint8Array | undefined;
  for (const name of SEARCHED_PARTS) {
    const column = segment.text(name);
    if (before !== undefined) markBoth(before, flagged(column, begins), meant);
    before = flagged(column, ends);
  }
  // Only the entry itself has the order of its metadata.
  const [ending, beginning] = [before ?? new Uint8Array(segment.count), new Uint8Array(segment.count)];
  for (const [, column] of segment.head.metadata) {
    mark(flagged(column, ends), ending);
    mark(flagged(column, begins), beginning);
  }
  for (const [row, , value] of segment.pairs()) {
    const lower = value.toLowerCase();
    if (ends(lower)) ending[row] = 1;
    if (begins(lower)) beginning[row] = 1;
  }
  markBoth(ending, beginning, meant);
}

/** Flags the rows whose text in a column passes a test; a row without one has an empty text. */
function rowsOf(
  segment: Segment,
  column: TextHead | undefined,
  scratch: Scratch,
  test: (text: string) => boolean,
): Uint8Array {
  const rows = new Uint8Array(segment.count);
  if (column === undefined) return test('') ? rows.fill(1) : rows;
  const texts = segment.lowerTexts(column, scratch);
  const flags = Uint8Array.from([test(''), ...texts.map(test)], Number);
  if (column.constant !== undefined) return rows.fill(flags[column.constant] as number);
  const ids = segment.packedIds(column, scratch, 'over breaks');
  for (let row = 0; row < rows.length; row++) rows[row] = flags[ids[row] as number] as number;
  return rows;
}

function mark(some: Uint8Array, into: Uint8Array): void {
  for (let row = 0; row < into.length; row++) if (some[row] === 1) into[row] = 1;
}

function markBoth(one: Uint8Array, other: Uint8Array, into: Uint8Array): void {
  for (let row = 0; row < into.length; row++) if (one[row] === 1 && other[row] === 1) into[row] = 1;
}
