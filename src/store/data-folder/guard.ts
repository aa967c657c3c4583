// Holds the parts of a data folder together at a start: each is there and of this store, or the start ends before
// anything is written.
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { findPart, holdsData, MAIN, makePrivate, markPart, onDatabase, PARTS, type Part } from './parts.ts';
import {
  hasEntries,
  hasSealedValues,
  listedFiles,
  listParts,
  type Registry,
  readRegistry,
} from './registry.ts';

/** What is wrong with a part. */
export interface PartTrouble {
  readonly part: Part | typeof MAIN;
  /** What is wrong and what to do, as a sentence each. */
  readonly why: string;
  readonly todo: string;
}

/** A data folder with parts that are missing or of another store. Nothing was changed. */
export class PartsError extends Error {
  override readonly name = 'PartsError';
  readonly troubles: readonly PartTrouble[];

  constructor(dataDir: string, troubles: readonly PartTrouble[]) {
    const lines = troubles.map(({ part, why, todo }) => `  ${part}: ${why} ${todo}`);
    super(`the data folder ${dataDir} is not whole; nothing was changed:\n${lines.join('\n')}`);
    this.troubles = troubles;
  }
}

/**
 * Checks the parts that this start uses, makes those of a new store, and adopts those of a version before there were
 * ids. Called by the holder of the folder's lock, before its files are opened.
 * @throws PartsError
 */
export function guardParts(dataDir: string, parts: readonly Part[]): void {
  const troubles = findTroubles(dataDir, parts);
  if (troubles.length > 0) throw new PartsError(dataDir, troubles);
  const main = join(dataDir, MAIN);
  makePrivate(main);
  onDatabase(main, (database) => {
    const registry = readRegistry(database);
    const id = registry.id ?? randomUUID();
    // The id comes first: a start that is killed here finds its own parts at the next one.
    if (registry.id === undefined) listParts(database, id, [MAIN]);
    const there = parts.filter((part) => {
      if (findPart(dataDir, part).kind !== 'marked') markPart(dataDir, part, id);
      return part !== 'encryption.key' || findPart(dataDir, part).kind !== 'absent';
    });
    listParts(
      database,
      id,
      there.filter((part) => !registry.parts.has(part)),
    );
  });
}

/** What is wrong, without changing anything. @throws PartsError for a main file that cannot be read */
export function findTroubles(dataDir: string, parts: readonly Part[]): readonly PartTrouble[] {
  const main = join(dataDir, MAIN);
  return onDatabase(existsSync(main) ? main : ':memory:', (database) =>
    troublesOf(dataDir, database, registryOf(dataDir, database), parts),
  );
}

function registryOf(dataDir: string, database: DatabaseSync): Registry {
  try {
    return readRegistry(database);
  } catch (cause) {
    const why = `it cannot be read (${cause instanceof Error ? cause.message : String(cause)}).`;
    throw new PartsError(dataDir, [{ part: MAIN, why, todo: restore(dataDir, MAIN) }]);
  }
}

function troublesOf(
  dataDir: string,
  database: DatabaseSync,
  registry: Registry,
  parts: readonly Part[],
): readonly PartTrouble[] {
  if (registry.id === undefined && registry.fresh) return mainTroubles(dataDir);
  return parts.flatMap((part) => partTroubles(dataDir, part, database, registry));
}

/** Parts of a store whose main file is missing. */
function mainTroubles(dataDir: string): readonly PartTrouble[] {
  const others = (Object.keys(PARTS) as Part[]).filter((part) => holdsData(dataDir, part));
  if (others.length === 0) return [];
  const why = `it is missing or empty, but ${others.join(', ')} of a store ${others.length === 1 ? 'is' : 'are'} here.`;
  return [{ part: MAIN, why, todo: restore(dataDir, MAIN) }];
}

function partTroubles(
  dataDir: string,
  part: Part,
  database: DatabaseSync,
  registry: Registry,
): readonly PartTrouble[] {
  const why = wrongWith(dataDir, part, database, registry);
  return why === undefined ? [] : [{ part, why, todo: restore(dataDir, part) }];
}

function wrongWith(
  dataDir: string,
  part: Part,
  database: DatabaseSync,
  { id, parts }: Registry,
): string | undefined {
  const { what } = PARTS[part];
  let found: ReturnType<typeof findPart>;
  try {
    found = findPart(dataDir, part);
  } catch (error) {
    return `it cannot be read (${error instanceof Error ? error.message : String(error)}); it holds ${what}.`;
  }
  if (part === 'encryption.key')
    return found.kind === 'absent' && hasSealedValues(database) ? `it is missing; it is ${what}.` : undefined;
  if (found.kind === 'marked')
    return found.id === id
      ? undefined
      : `it belongs to another store (${found.id}; this one is ${id ?? 'older than ids'}).`;
  if (parts.has(part))
    return found.kind === 'absent'
      ? `it is missing; it holds ${what}.`
      : 'it has lost its id: it is empty, or not the one that was here.';
  // Of a version before there were ids nothing is listed: what the main file says of the log tells what must be here.
  if (part === 'state.db' && found.kind === 'absent' && id === undefined && hasEntries(database))
    return `it is missing; it holds ${what}.`;
  if (part === 'logs' && id === undefined && isLost(dataDir, database))
    return `none of the files that ${MAIN} lists is in it; it holds ${what}.`;
  return undefined;
}

/** Whether files of the log are listed and all of them are missing. */
function isLost(dataDir: string, database: DatabaseSync): boolean {
  const files = [...listedFiles(database).keys()];
  return (
    files.length > 0 &&
    files.every((file) => statSync(join(dataDir, 'logs', file), { throwIfNoEntry: false }) === undefined)
  );
}

function restore(dataDir: string, part: Part | typeof MAIN): string {
  const accept = `sluice accept-loss ${part} --data-dir ${dataDir}`;
  const instead = part === 'encryption.key' ? ', or set GATEWAY_ENCRYPTION_KEY to the key it held' : '';
  return `Mount or restore it${instead}; or go on without it for good: ${accept}`;
}
