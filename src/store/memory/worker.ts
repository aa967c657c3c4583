// The state's worker: rows of its own file, and the windows in memory. Waiting calls go into one transaction, and
// each caller is answered after COMMIT. The file is not the documents' one: an admission does not wait for a batch
// of log entries.
import { DatabaseSync } from 'node:sqlite';
import type { ArgsOf } from '../shared/scripts.ts';
import type { Envelope, Reply, WorkerSetup } from '../sqlite/protocol.ts';
import { failureOf, type RunGroup, serve } from '../sqlite/worker-loop.ts';
import { admitBody } from './admit.ts';
import type { Body, DurableName, StateCall } from './call.ts';
import { correctBudgetBody, readBudgetBody, renewBody, sweepBody } from './holds.ts';
import { journalBodies } from './journal.ts';
import type { Moment } from './moment.ts';
import { stateRows } from './rows.ts';
import { createStateTables, forgetter } from './schema.ts';
import { settleBody } from './settle.ts';
import { valueBodies } from './value.ts';
import { createWindows } from './windows.ts';

/** Calls of one transaction. */
const GROUP = 256;
/** Between two turns of forgetting, in milliseconds of the store's clock. */
const FORGET_EVERY_MS = 100;
const TIDY_EVERY_MS = 10_000;

serve<StateCall>(GROUP, openState);

function openState(setup: WorkerSetup): RunGroup<StateCall> {
  const database = new DatabaseSync(setup.path, { timeout: 0 });
  // Exclusive: a second process is refused, and the index of the log stays in memory. NORMAL outlives kill -9.
  database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -32768;
    PRAGMA temp_store = MEMORY;`);
  createStateTables(database);

  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const savepoint = database.prepare('SAVEPOINT part');
  const release = database.prepare('RELEASE part');
  const forget = forgetter(database);
  const windows = createWindows();
  const rows = stateRows(database);
  const journal = journalBodies(database);
  const values = valueBodies(database);
  const bodies: { readonly [N in DurableName]: Body<N> } = {
    admit: admitBody(rows, windows, journal.rows),
    settle: settleBody(rows, windows, journal.rows),
    renew: renewBody(rows),
    sweep: sweepBody(rows),
    readBudget: readBudgetBody(rows),
    correctBudget: correctBudgetBody(rows),
    appendJournal: journal.append,
    claimJournal: journal.claim,
    acknowledgeJournal: journal.acknowledge,
    readJournal: journal.read,
    readValue: values.read,
    writeValue: values.write,
  };
  let forgotten = 0;
  let tidied = 0;

  function perform([id, , call]: Envelope<StateCall>): Reply {
    if (call.kind !== 'run') return [id, null];
    const body = bodies[call.name] as (org: string, args: ArgsOf<DurableName>, at: Moment) => unknown;
    return [id, body(call.org, call.args, call.at)];
  }

  /** Runs one call; a failed one leaves no trace. */
  function performApart(envelope: Envelope<StateCall>): Reply {
    const mark = windows.mark();
    savepoint.run();
    try {
      const reply = perform(envelope);
      release.run();
      return reply;
    } catch (error) {
      windows.undo(mark);
      // SQLite gave up the whole transaction (disk full, I/O error): nothing to go back to.
      if (!database.isTransaction) throw error;
      database.exec('ROLLBACK TO part; RELEASE part');
      return [envelope[0], undefined, failureOf(error)];
    }
  }

  function tidy(group: readonly Envelope<StateCall>[]): void {
    const call = group.findLast(([, , { kind }]) => kind === 'run')?.[2];
    if (call?.kind !== 'run') return;
    const { ms, us } = call.at;
    if (Math.abs(ms - forgotten) >= FORGET_EVERY_MS) {
      forgotten = ms;
      forget(ms);
    }
    if (Math.abs(ms - tidied) >= TIDY_EVERY_MS) {
      tidied = ms;
      windows.tidy(us);
    }
  }

  /** A group as one transaction. @throws what SQLite says; nothing is left of it then */
  function transact(
    group: readonly Envelope<StateCall>[],
    one: (call: Envelope<StateCall>) => Reply,
  ): Reply[] {
    try {
      begin.run();
      const replies = group.map(one);
      tidy(group);
      commit.run();
      windows.keep();
      return replies;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      windows.undo(0);
      throw error;
    }
  }

  function settled(group: readonly Envelope<StateCall>[]): Reply[] {
    try {
      return transact(group, perform);
    } catch {
      // A call that fails is rare, and a savepoint for each costs as much as the call: only now each has its own.
      try {
        return transact(group, performApart);
      } catch (error) {
        return group.map(([id]) => [id, undefined, failureOf(error)]);
      }
    }
  }

  return (group) => {
    const replies = settled(group);
    if (group.some(([, , { kind }]) => kind === 'close')) {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
    }
    return replies;
  };
}
