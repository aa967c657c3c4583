// `sluice accept-loss`: the deliberate way to go on without a part of a data folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setAside } from './lost-and-found.ts';
import { findPart, isPart, MAIN, onDatabase, PARTS, type Part } from './parts.ts';
import { listedFiles, readRegistry, tablesOf, unlistPart } from './registry.ts';

/**
 * Takes a part's loss as final: what is left of it is moved to `lost+found/`, and the next start makes a new one. To be
 * called by the holder of the folder's lock. Answers what was done, a sentence each.
 * @param part as a person wrote it @throws Error for people when there is no such part
 */
export function acceptLoss(dataDir: string, part: string): readonly string[] {
  if (part === MAIN) return withoutMain(dataDir);
  if (!isPart(part))
    throw new Error(
      `${part}: no part of a data folder; they are ${[MAIN, ...Object.keys(PARTS)].join(', ')}`,
    );
  return onDatabase(join(dataDir, MAIN), (database) => [
    ...foreignAside(dataDir, part, readRegistry(database).id),
    ...WITHOUT[part](database, dataDir),
    ...unlisted(database, part),
  ]);
}

/** The other parts cannot be read without its list. */
function withoutMain(dataDir: string): readonly string[] {
  const others = [MAIN, `${MAIN}-wal`, `${MAIN}-shm`, ...Object.keys(PARTS)].filter(
    (part) => part !== 'encryption.key' && existsSync(join(dataDir, part)),
  );
  return others.map((part) => `${part} is now ${setAside(dataDir, dataDir, part)}.`);
}

function foreignAside(dataDir: string, part: Part, id: string | undefined): readonly string[] {
  if (!isForeign(dataDir, part, id)) return [];
  return [`What was there in the place of ${part} is now ${setAside(dataDir, dataDir, part)}.`];
}

/** Whether it is another store's, or cannot be read. */
function isForeign(dataDir: string, part: Part, id: string | undefined): boolean {
  try {
    const found = findPart(dataDir, part);
    return found.kind === 'marked' && found.id !== id;
  } catch {
    return true;
  }
}

function unlisted(database: DatabaseSync, part: Part): readonly string[] {
  unlistPart(database, part);
  return [`The next start makes ${part} anew, or takes what is there.`];
}

/** Removes the references to a lost part. */
const WITHOUT: Readonly<Record<Part, (database: DatabaseSync, dataDir: string) => readonly string[]>> = {
  logs: (database, dataDir) => {
    const gone = [...listedFiles(database).keys()].filter((file) => !existsSync(join(dataDir, 'logs', file)));
    for (const file of gone) database.prepare('DELETE FROM log_segments WHERE file = ?').run(file);
    if (gone.length > 0) database.exec('UPDATE log_state SET epoch = epoch + 1');
    return gone.map((file) => `The log no longer lists ${file}.`);
  },
  'state.db': () => [
    'Budgets begin at zero: `sluice ledger verify --rebuild` counts them anew from the request log.',
  ],
  exports: () => [],
  flights: () => [],
  'encryption.key': (database) => {
    if (tablesOf(database).has('c_encryption_keys')) database.exec('DELETE FROM c_encryption_keys');
    return [
      'Stored credentials cannot be read any more, and no API key is known: give new ones. GATEWAY_ADMIN_API_KEY of the',
      'next start sets an admin key.',
    ];
  },
};
