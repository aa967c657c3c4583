// The writer's side of feedback, and its table.
import type { DatabaseSync } from 'node:sqlite';
import { isUniqueFailure } from '../document-writes.ts';
import { FailureError } from '../worker-loop.ts';
import type { FeedbackRow, FeedbackUpdate } from './feedback-row.ts';

export interface FeedbackWriter {
  add(rows: readonly FeedbackRow[], onlyMissing: boolean): null;
  update(update: FeedbackUpdate): boolean;
}

/** The indexes: by id, by trace with all columns that its totals read, by time of the entry. */
export function createFeedbackTable(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS log_feedback (
      seq INTEGER PRIMARY KEY,
      organisation_id TEXT NOT NULL,
      workspace_id TEXT NOT NULL,
      id TEXT NOT NULL,
      trace_id TEXT NOT NULL,
      time INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      mark REAL NOT NULL,
      record TEXT NOT NULL,
      UNIQUE (organisation_id, id)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS log_feedback_of_trace
      ON log_feedback (organisation_id, trace_id, created_at, id, workspace_id, mark);
    DROP INDEX IF EXISTS log_feedback_by_trace;
    CREATE INDEX IF NOT EXISTS log_feedback_by_time ON log_feedback (organisation_id, time);
  `);
}

export function feedbackWriter(database: DatabaseSync): FeedbackWriter {
  const columns = 'organisation_id, workspace_id, id, trace_id, time, created_at, mark, record';
  const insert = database.prepare(`INSERT INTO log_feedback (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertMissing = database.prepare(
    `INSERT INTO log_feedback (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (organisation_id, id) DO NOTHING`,
  );
  const find = database.prepare(
    `SELECT seq, record FROM log_feedback
     WHERE organisation_id = ? AND id = ? AND workspace_id = coalesce(?, workspace_id)`,
  );
  const replace = database.prepare('UPDATE log_feedback SET mark = ?, record = ? WHERE seq = ?');
  return {
    add: (rows, onlyMissing) => {
      for (const row of rows) {
        try {
          (onlyMissing ? insertMissing : insert).run(...row);
        } catch (error) {
          if (!isUniqueFailure(error)) throw error;
          throw new FailureError({ reason: 'conflict', message: `there is feedback ${row[2]} already` });
        }
      }
      return null;
    },
    update: ({ org, workspace, id, mark, members }) => {
      const found = find.get(org, id, workspace);
      if (found === undefined) return false;
      const record = { ...JSON.parse(String(found.record)), ...JSON.parse(members) };
      replace.run(mark, JSON.stringify(record), Number(found.seq));
      return true;
    },
  };
}
