// A batch of log entries as rows, checked.
import { setImmediate } from 'node:timers/promises';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { RequestRecord } from '../request-log.ts';
import type { LogRow } from './request-log-schema.ts';

/** Entries written as JSON between two turns of the event loop: about a millisecond's work. */
const SLICE = 200;
/** Of an entry as JSON, in UTF-16 units: with three bytes each it still fits the server's document of 16 MiB. */
const ENTRY_LENGTH = 5 * 1024 * 1024;

/** The rows of a batch, each key once. Throws `validation_failed` when an entry is broken. */
export async function rowsOf(batch: readonly RequestRecord[]): Promise<LogRow[]> {
  const rows = new Map<string, LogRow>();
  for (const [index, record] of batch.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    const row = rowOf(record);
    const key = JSON.stringify([row.organisationId, row.createdAt, row.id]);
    if (!rows.has(key)) rows.set(key, row);
  }
  return [...rows.values()];
}

function rowOf(record: RequestRecord): LogRow {
  const { organisationId, workspaceId, createdAt, id, statusCode, traceId } = record;
  if (typeof id !== 'string' || typeof traceId !== 'string') throw broken('id and traceId');
  if (typeof organisationId !== 'string' || typeof workspaceId !== 'string') throw broken('scope');
  if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(statusCode)) throw broken('numbers');
  const entry = JSON.stringify(record);
  if (entry.length > ENTRY_LENGTH) throw broken('length');
  return { organisationId, workspaceId, createdAt, id, statusCode, traceId, entry };
}

function broken(what: string): GatewayError {
  return fail('validation_failed', `a log entry has broken ${what}`);
}
