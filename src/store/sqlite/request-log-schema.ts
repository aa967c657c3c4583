// The request log's tables. Every index entry of an entry lands near the one before, in pages that are warm:
// with indexes on random ids the same machine stored 16,000 entries/s and fell, with these 75,000, level.
import type { DatabaseSync } from 'node:sqlite';

/** Entries of one segment: 16,384. A trace is looked up in each segment, and written in the newest only. */
export const SEGMENT_BITS = 14;

/**
 * - `log_scopes` gives organisations and workspaces (workspace '' is the organisation itself) a small number.
 * - `log_by_organisation` also finds a batch that is sent again: same organisation, time and id.
 * - `log_by_status` leaves out 200, which is nearly all: those are found by walking one of the other two.
 * - `log_by_trace` has a number of the trace id, random within a segment; the row's text decides.
 */
export function createLogTables(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS log_scopes (
      key INTEGER PRIMARY KEY,
      organisation_id TEXT NOT NULL,
      workspace_id TEXT NOT NULL,
      UNIQUE (organisation_id, workspace_id)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS log_entries (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      organisation INTEGER NOT NULL,
      workspace INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      status_code INTEGER NOT NULL,
      segment INTEGER NOT NULL,
      trace INTEGER NOT NULL,
      trace_id TEXT NOT NULL,
      entry TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS log_by_organisation ON log_entries (organisation, created_at, id, status_code);
    CREATE INDEX IF NOT EXISTS log_by_workspace ON log_entries (workspace, created_at, status_code);
    CREATE INDEX IF NOT EXISTS log_by_status ON log_entries (organisation, status_code, created_at)
      WHERE status_code <> 200;
    CREATE INDEX IF NOT EXISTS log_by_trace ON log_entries (segment, trace);
  `);
}

/** A number of 31 bits for a trace id (FNV-1a over its UTF-16 units). */
export function traceNumber(traceId: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < traceId.length; i++) hash = Math.imul(hash ^ traceId.charCodeAt(i), 0x01000193);
  return hash >>> 1;
}
