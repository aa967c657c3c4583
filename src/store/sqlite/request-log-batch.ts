// A batch of entries as one string: per entry a line of the columns and a line of the entry's JSON. JSON has
// no bare line feed, so the worker cuts lines and parses six short values instead of the whole entry.
import { setImmediate } from 'node:timers/promises';
import type { RequestRecord } from '../request-log.ts';

export type BatchColumns = [
  id: string,
  organisationId: string,
  workspaceId: string,
  createdAt: number,
  statusCode: number,
  traceId: string,
];

/** Entries written between two turns of the event loop: about a millisecond's work. */
const SLICE = 256;

/** The batch as text. Gives way to other work in between. */
export async function encodeBatch(batch: readonly RequestRecord[]): Promise<string> {
  let text = '';
  for (let i = 0; i < batch.length; i++) {
    if (i > 0 && i % SLICE === 0) await setImmediate();
    const entry = batch[i] as RequestRecord;
    const { id, organisationId, workspaceId, createdAt, statusCode, traceId } = entry;
    const columns: BatchColumns = [id, organisationId, workspaceId, createdAt, statusCode, traceId];
    text += `${JSON.stringify(columns)}\n${JSON.stringify(entry)}\n`;
  }
  return text;
}

/** Calls `each` with the columns and the JSON text of every entry of a batch. */
export function decodeBatch(batch: string, each: (columns: BatchColumns, entry: string) => void): void {
  let at = 0;
  while (at < batch.length) {
    const columnsEnd = batch.indexOf('\n', at);
    const entryEnd = batch.indexOf('\n', columnsEnd + 1);
    each(JSON.parse(batch.slice(at, columnsEnd)) as BatchColumns, batch.slice(columnsEnd + 1, entryEnd));
    at = entryEnd + 1;
  }
}
