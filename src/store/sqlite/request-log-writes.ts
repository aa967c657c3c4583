// The writer's side of the request log.
import type { DatabaseSync } from 'node:sqlite';
import { decodeBatch } from './request-log-batch.ts';
import { SEGMENT_BITS, traceNumber } from './request-log-schema.ts';
import { FailureError } from './worker-loop.ts';

/** Scopes kept in memory; beyond it they are looked up again. */
const SCOPES = 100_000;

export interface LogWriter {
  /** Stores a batch's entries that are not stored yet. */
  append(batch: string): null;
  /** To be called when what was appended is rolled back: numbers given since then are void. */
  forget(): void;
}

export function logWriter(database: DatabaseSync): LogWriter {
  const insert = database.prepare(`INSERT OR IGNORE INTO log_entries
    (seq, id, organisation, workspace, created_at, status_code, segment, trace, trace_id, entry)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const lastSeq = database.prepare('SELECT coalesce(max(seq), 0) AS seq FROM log_entries');
  const findScope = database.prepare(
    'SELECT key FROM log_scopes WHERE organisation_id = ? AND workspace_id = ?',
  );
  const addScope = database.prepare(
    'INSERT INTO log_scopes (organisation_id, workspace_id) VALUES (?, ?) RETURNING key',
  );
  const scopes = new Map<string, Map<string, number>>();
  let seq: number | undefined;

  function scopeKey(organisationId: string, workspaceId: string): number {
    let workspaces = scopes.get(organisationId);
    if (workspaces === undefined) {
      if (scopes.size >= SCOPES) scopes.clear();
      workspaces = new Map();
      scopes.set(organisationId, workspaces);
    }
    let key = workspaces.get(workspaceId);
    if (key === undefined) {
      const row = findScope.get(organisationId, workspaceId) ?? addScope.get(organisationId, workspaceId);
      key = Number(row?.key);
      if (workspaces.size >= SCOPES) workspaces.clear();
      workspaces.set(workspaceId, key);
    }
    return key;
  }

  return {
    append: (batch) => {
      let next = seq ?? Number(lastSeq.get()?.seq);
      decodeBatch(batch, ([id, organisationId, workspaceId, createdAt, statusCode, traceId], entry) => {
        // INSERT OR IGNORE would pass over a broken row in silence.
        if (typeof id !== 'string' || typeof traceId !== 'string') throw brokenEntry('id and traceId');
        if (typeof organisationId !== 'string' || typeof workspaceId !== 'string') throw brokenEntry('scope');
        if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(statusCode))
          throw brokenEntry('numbers');
        const organisation = scopeKey(organisationId, '');
        const workspace = scopeKey(organisationId, workspaceId);
        const segment = (next + 1) >>> SEGMENT_BITS;
        const trace = traceNumber(traceId);
        const { changes } = insert.run(
          next + 1,
          id,
          organisation,
          workspace,
          createdAt,
          statusCode,
          segment,
          trace,
          traceId,
          entry,
        );
        if (changes === 1) next++;
      });
      seq = next;
      return null;
    },
    forget: () => {
      scopes.clear();
      seq = undefined;
    },
  };
}

function brokenEntry(what: string): FailureError {
  return new FailureError({ reason: 'validation_failed', message: `a log entry has broken ${what}` });
}
