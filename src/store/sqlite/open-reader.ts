// What reads documents: a read-only connection, which in WAL neither waits for the writer nor stops it.
import { DatabaseSync } from 'node:sqlite';
import { documentReader } from './document-reads.ts';
import { keptReader } from './kept-values.ts';
import { feedbackReader } from './log/feedback-reads.ts';
import { maintenanceReader } from './maintenance-reads.ts';
import type { ReaderCall, WorkerSetup } from './protocol.ts';
import { placesBehind } from './schema-versions.ts';
import { statementCache } from './statement-cache.ts';
import { eachAlone, type RunGroup } from './worker-loop.ts';

/** Opens the connection. @throws Error when there is no such file */
export function openReader(setup: WorkerSetup): RunGroup<ReaderCall> {
  const database = new DatabaseSync(setup.path, { readOnly: true, timeout: 5000 });
  database.exec('PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0');
  const cached = statementCache(database);
  const documents = documentReader(database, setup.collections, cached);
  const { scan, countDocuments, lookUp } = maintenanceReader(setup.collections, cached);
  const feedback = feedbackReader(cached);
  const kept = keptReader(cached);
  const ping = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1');

  /** One view of the data for all statements of a call. */
  function atOnce<T>(run: () => T): T {
    cached('BEGIN').run();
    try {
      return run();
    } finally {
      cached('COMMIT').run();
    }
  }

  function perform(call: ReaderCall): unknown {
    switch (call.kind) {
      case 'get':
        return documents.get(call);
      case 'unique':
        return documents.unique(call);
      case 'scan':
        return scan(call);
      case 'count':
        return countDocuments(call.c);
      case 'lookUp':
        return lookUp(call.c, call.rows);
      case 'behind':
        return placesBehind(database, setup.collections);
      case 'page':
        return atOnce(() => documents.page(call));
      case 'rows':
        return atOnce(() => documents.rows(call));
      case 'feedback':
        return feedback.get(call.org, call.workspace, call.id);
      case 'scanFeedback':
        return feedback.scan(call.after, call.limit, call.characters);
      case 'feedbackOf':
        return atOnce(() => feedback.of(call, call.traceIds, call.own));
      case 'kept':
        return kept.get(call.key, call.now);
      case 'scanKept':
        return kept.scan(call.after);
      case 'listKept':
        return kept.list(call.prefix, call.after);
      case 'ping':
        return ping.get() === undefined ? null : 1;
      case 'close':
        database.close();
        return null;
    }
  }

  return eachAlone(perform);
}
