// Entries as texts, and batches of them as lines.
import { setImmediate } from 'node:timers/promises';
import type { RequestRecord } from '../../call/record.ts';
import type { WrittenEntry } from '../request-log.ts';
import { type EntryTuple, entryRecord, entryTuple } from './entry-tuple.ts';

/** Entries written between two turns of the event loop: about a millisecond's work. */
const SLICE = 256;

/**
 * The batch's entries as texts. Gives way to other work in between.
 * @param texts of entries that were written before, by place
 */
export async function encodeBatch(
  batch: readonly WrittenEntry[],
  texts: readonly (string | undefined)[] = [],
): Promise<string[]> {
  const lines: string[] = [];
  for (let i = 0; i < batch.length; i++) {
    const written = batch[i] as WrittenEntry;
    const known = typeof written === 'string' ? written : texts[i];
    if (known === undefined && i > 0 && i % SLICE === 0) await setImmediate();
    lines.push(known ?? encodeEntry(written as RequestRecord));
  }
  return lines;
}

/** An entry as text, without a line break. */
export function encodeEntry(entry: RequestRecord): string {
  return JSON.stringify(entryTuple(entry));
}

/** Calls `each` with every entry's text of lines. */
export function eachLine(batch: string, each: (text: string) => void): void {
  let at = 0;
  while (at < batch.length) {
    const end = batch.indexOf('\n', at);
    each(batch.slice(at, end));
    at = end + 1;
  }
}

/** An entry from its text, which may be one of before: the entry itself as JSON. */
export function decodeEntry(text: string): RequestRecord {
  const read = JSON.parse(text) as EntryTuple | RequestRecord;
  return Array.isArray(read) ? entryRecord(read as EntryTuple) : (read as RequestRecord);
}

/** The entry itself. */
export function readWritten(written: WrittenEntry): RequestRecord {
  return typeof written === 'string' ? decodeEntry(written) : written;
}

/** Entries from their texts; gives way to other work in between. */
export async function decodeEntries(texts: readonly string[]): Promise<RequestRecord[]> {
  const entries: RequestRecord[] = [];
  for (const [index, text] of texts.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    entries.push(decodeEntry(text));
  }
  return entries;
}
