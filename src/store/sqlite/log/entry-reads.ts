// Single entries by their ids, and all entries in the order in which they came.
import type { Selection } from './selection.ts';
import type { Part } from './view.ts';

/** The text of the first entry that matches a selection by id; null: none. */
export function readEntry(parts: readonly Part[], selection: Selection): string | null {
  // The newest first: an entry that is requested without its time is mostly a recent one.
  const meant = parts.filter((part) => selection.overlaps(part)).sort((a, b) => b.maxTime - a.maxTime);
  for (const part of meant) {
    const segment = part.open();
    const { rows, count } = selection.rows(segment);
    if (count > 0) return segment.entries([rows[0] as number])[0] ?? null;
  }
  return null;
}

/** Entries after a place of arrival, up to a number of entries or of characters. */
export function scanEntries(
  parts: readonly Part[],
  { scratch }: Selection,
  after: number,
  limit: number,
  characters: number,
): [seq: number, entry: string][] {
  const left = parts.filter(({ lastSeq }) => lastSeq > after).sort((a, b) => a.firstSeq - b.firstSeq);
  let found: { readonly seq: number; readonly part: Part; readonly row: number }[] = [];
  for (const part of left) {
    // Segments of one block share its places of arrival: later blocks begin after all of them.
    const last = found[limit - 1];
    if (last !== undefined && part.firstSeq > last.seq) break;
    const seqs = part.open().numbers('seq', scratch);
    for (let row = 0; row < part.count; row++) {
      const seq = seqs[row] as number;
      if (seq > after) found.push({ seq, part, row });
    }
    found.sort((a, b) => a.seq - b.seq);
    found = found.slice(0, limit);
  }
  return untilLong(found, characters);
}

function untilLong(
  found: readonly { readonly seq: number; readonly part: Part; readonly row: number }[],
  characters: number,
): [seq: number, entry: string][] {
  const rows = new Map<Part, number[]>();
  for (const { part, row } of found) rows.set(part, [...(rows.get(part) ?? []), row]);
  const texts = new Map([...rows].map(([part, own]) => [part, part.open().entries(own).values()]));
  const answer: [number, string][] = [];
  let length = 0;
  for (const { seq, part } of found) {
    const text = texts.get(part)?.next().value ?? '';
    answer.push([seq, text]);
    length += text.length;
    if (length >= characters) break;
  }
  return answer;
}
