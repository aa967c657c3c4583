// Whether shared state has anything to do: a gateway without limits never needs its worker, which takes 12 MB.
import { DatabaseSync } from 'node:sqlite';
import type { ResultOf, ScriptName } from '../shared/scripts.ts';
import { LAYOUT } from './schema.ts';

/** What the scripts that a process runs unasked answer while there are neither entries in the journal nor open holds. */
const NOTHING: { readonly [N in 'claimJournal' | 'readJournal' | 'sweep']: ResultOf<N> } = {
  claimJournal: [],
  readJournal: { size: 0, claimed: 0, lagMs: 0 },
  sweep: [],
};

/** The answer of a script where nothing waits; undefined: it has work to do all the same. */
export function nothingOf<N extends ScriptName>(name: N): ResultOf<N> | undefined {
  return Object.hasOwn(NOTHING, name) ? (NOTHING[name as 'sweep'] as ResultOf<N>) : undefined;
}

/**
 * Whether nothing in the file waits: no entry in the journal, no open hold. Called while no other connection of this process
 * has the file. A file that cannot be read is left to the worker, which says why.
 */
export function isAtRest(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    const layout = Number(database.prepare('PRAGMA user_version').get()?.user_version);
    if (layout === 0) return true;
    if (layout !== LAYOUT) return false;
    const waiting = database.prepare(
      `SELECT EXISTS (SELECT 1 FROM journal) OR EXISTS (SELECT 1 FROM holds WHERE forget_at IS NULL) AS some`,
    );
    return waiting.get()?.some === 0;
  } catch {
    return false;
  } finally {
    database?.close();
  }
}
