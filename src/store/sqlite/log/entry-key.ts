// What an entry is known by, read off the begin of its text.
import type { EntryTuple } from '../../log/entry-tuple.ts';
import { FailureError } from '../worker-loop.ts';

export interface EntryKey {
  readonly id: string;
  readonly organisationId: string;
  readonly createdAt: number;
}

/** Begin of an entry as it is nearly always: id, organisation, workspace, time, status, trace. */
const PLAIN = /\["([^"\\]*)","([^"\\]*)","[^"\\]*",(\d{1,15}),(\d{1,15}),"/y;

/** What is at a place of a batch. @throws FailureError when it is no entry */
export function keyAt(batch: string, at: number): EntryKey {
  PLAIN.lastIndex = at;
  const plain = PLAIN.exec(batch);
  if (plain) return { id: plain[1] ?? '', organisationId: plain[2] ?? '', createdAt: Number(plain[3]) };
  const line = batch.slice(at, batch.indexOf('\n', at));
  const [id, organisationId, workspaceId, createdAt, statusCode, traceId] = JSON.parse(line) as EntryTuple;
  if (typeof id !== 'string' || typeof traceId !== 'string') throw brokenEntry('id and traceId');
  if (typeof organisationId !== 'string' || typeof workspaceId !== 'string') throw brokenEntry('scope');
  if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(statusCode)) throw brokenEntry('numbers');
  return { id, organisationId, createdAt };
}

/** Calls `each` with the key of every entry of a batch. */
export function eachKey(batch: string, each: (key: EntryKey) => void): void {
  for (let at = 0; at < batch.length; at = batch.indexOf('\n', at) + 1) each(keyAt(batch, at));
}

/** One text for each key. */
export function textOfKey({ id, organisationId, createdAt }: EntryKey): string {
  return `${createdAt} ${organisationId.length} ${organisationId}${id}`;
}

function brokenEntry(what: string): FailureError {
  return new FailureError({ reason: 'validation_failed', message: `a log entry has broken ${what}` });
}
