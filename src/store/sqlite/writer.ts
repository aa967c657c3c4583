// The writer worker: the only connection that writes. Everything that waits goes into one transaction (group
// commit), and each caller is answered after COMMIT.
import { DatabaseSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import { createCollection } from './document-schema.ts';
import { documentWriter } from './document-writes.ts';
import { createKeptTable, keptWriter } from './kept-values.ts';
import { hasEarlierDays } from './log/earlier-days.ts';
import { createFeedbackTable, feedbackWriter } from './log/feedback-writes.ts';
import { hasLegacy, prepareLegacy } from './log/legacy.ts';
import { createLogTables } from './log/manifest.ts';
import { tailWriter } from './log/tail-writes.ts';
import { maintenanceWriter } from './maintenance-writes.ts';
import { openReader } from './open-reader.ts';
import type { Envelope, Failure, ReaderCall, Reply, RowWrite, WorkerSetup, WriterCall } from './protocol.ts';
import { createSchemaTable, markUpgraded } from './schema-versions.ts';
import { statementCache } from './statement-cache.ts';
import { FailureError, failureOf, type RunGroup, serve } from './worker-loop.ts';

/** Of the file's own layout; collections bring theirs along. */
const LAYOUT = 1;

/** Calls of one transaction: more would save little of the sync, and hold the main thread's event loop for long. */
const GROUP = 256;

serve<WriterCall>(GROUP, openWriter);

function openWriter(setup: WorkerSetup): RunGroup<WriterCall> {
  const database = new DatabaseSync(setup.path, { timeout: 5000 });
  // A checkpoint moves 16 MiB: rarer ones write a page of an index once instead of many times, but the pause
  // that they make is longer.
  database.exec(`PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;`);
  createTables(database, setup);

  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const savepoint = database.prepare('SAVEPOINT part');
  const release = database.prepare('RELEASE part');
  const writeDocument = documentWriter(database, setup.collections);
  const maintenance = maintenanceWriter(database, setup.collections);
  const statements = statementCache(database);
  const log = tailWriter(statements, setup.folder);
  const feedback = feedbackWriter(database);
  const kept = keptWriter(statementCache(database));

  /** Runs what may fail half done so that it fails alone. */
  function apart<T>(run: () => T): T {
    savepoint.run();
    try {
      const result = run();
      release.run();
      return result;
    } catch (error) {
      // SQLite gave up the whole transaction (disk full, I/O error): nothing to go back to.
      if (!database.isTransaction) throw error;
      database.exec('ROLLBACK TO part; RELEASE part');
      throw error;
    }
  }

  function perform(call: WriterCall): unknown {
    switch (call.kind) {
      case 'commit': {
        const [only] = call.writes;
        if (call.writes.length === 1) return [writeDocument(only as RowWrite)];
        return apart(() => call.writes.map((write, index) => numbered(index, () => writeDocument(write))));
      }
      case 'rewrite':
        return maintenance.rewrite(call.c, call.rewrites);
      case 'import':
        return maintenance.importRows(call.c, call.imports);
      case 'upgraded':
        return markUpgraded(database, setup.collections[call.c] as Collection<object>);
      case 'append':
        // They are put together here, not on the thread that serves calls.
        return apart(() => log.append(`${call.lines.join('\n')}\n`));
      case 'readKeys':
        return log.readKeys();
      case 'tail':
        return { entries: log.size(), legacy: hasLegacy(database) };
      case 'earlierDays':
        return hasEarlierDays(statements, setup.folder, call.now);
      case 'segments':
        return apart(() => log.change(call.change));
      case 'feedback':
        return apart(() => feedback.add(call.rows, call.onlyMissing));
      case 'updateFeedback':
        return feedback.update(call.update);
      case 'keep':
        return kept.keep(call.key, call.value, call.expiresAt);
      case 'replaceKept':
        return kept.replace(call.key, call.before, call.value, call.expiresAt);
      case 'dropKept':
        return kept.drop(call.key);
      case 'sweepKept':
        return kept.sweep(call.now);
      default:
        return null;
    }
  }

  /** One transaction. A part that fails fails alone; when the transaction fails, all its parts do. */
  function transact(group: readonly Envelope<WriterCall>[]): Reply[] {
    const replies: Reply[] = [];
    try {
      begin.run();
      for (const [id, , call] of group) {
        try {
          replies.push([id, perform(call)]);
        } catch (error) {
          if (isLogCall(call)) log.forget();
          if (!database.isTransaction) throw error;
          replies.push([id, undefined, failureOf(error)]);
        }
      }
      commit.run();
      return replies;
    } catch (error) {
      log.forget();
      if (database.isTransaction) database.exec('ROLLBACK');
      return group.map(([id]) => [id, undefined, failureOf(error)]);
    }
  }

  let durability = '';
  /** Documents outlive a power loss; entries and kept values alone need only outlive the process, and save a sync each. */
  function setDurability(group: readonly Envelope<WriterCall>[]): void {
    const wanted = group.every(([, , call]) => isLogCall(call)) ? 'NORMAL' : 'FULL';
    if (wanted === durability) return;
    database.exec(`PRAGMA synchronous = ${wanted}`);
    durability = wanted;
  }

  // A connection of its own, as in a thread of its own: it sees what is committed.
  let reader: RunGroup<ReaderCall> | undefined;

  return (group) => {
    const writes: Envelope<WriterCall>[] = [];
    const reads: Envelope<ReaderCall>[] = [];
    const replies: Reply[] = [];
    for (const envelope of group) {
      const [id, expiresAt, call] = envelope;
      if (call.kind === 'ping' || call.kind === 'close') replies.push([id, null]);
      else if (call.kind === 'read') reads.push([id, expiresAt, call.call]);
      else writes.push(envelope);
    }
    if (writes.length > 0) {
      setDurability(writes);
      replies.push(...transact(writes));
    }
    if (reads.length > 0) {
      reader ??= openReader(setup);
      replies.push(...reader(reads));
    }
    if (group.some(([, , call]) => call.kind === 'close')) {
      // First: the last connection's checkpoint then meets no other connection.
      reader?.([[0, 0, { kind: 'close' }]]);
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
    }
    return replies;
  };
}

/** What leaves a power loss whole, if perhaps older: a segment is synced before it is listed. */
function isLogCall(call: WriterCall): boolean {
  if (call.kind === 'segments') return call.change.remove.length === 0;
  return ['append', 'readKeys', 'tail', 'earlierDays', 'keep'].includes(call.kind);
}

function createTables(database: DatabaseSync, setup: WorkerSetup): void {
  const layout = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (layout > LAYOUT)
    throw new Error(`the data has layout ${layout}, made by a newer version; this one knows ${LAYOUT}`);
  database.exec('BEGIN IMMEDIATE');
  for (const collection of setup.collections) createCollection(database, collection);
  createSchemaTable(database, setup.collections);
  createLogTables(database);
  prepareLegacy(database);
  createFeedbackTable(database);
  createKeptTable(database);
  database.exec(`PRAGMA user_version = ${LAYOUT}; COMMIT`);
}

function numbered<T>(operation: number, run: () => T): T {
  try {
    return run();
  } catch (error) {
    const failure: Failure = { ...failureOf(error), operation };
    throw new FailureError(failure);
  }
}
