// Where processes write their calls in flight: a folder each, locked while its process lives.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { lockFile } from '../../store/sqlite/file-lock.ts';

const LOCK = 'lock.db';
/** This file exists while no line is missing. */
const WHOLE = 'whole';
const SEGMENT = /^(\d{1,12})\.lines$/;

/** A folder that this process holds. */
export interface FlightFolder {
  readonly owner: string;
  readonly path: string;
  /** Of its files, oldest first. */
  segments(): string[];
  segmentPath(number: number): string;
  /** Whether every line of its process was written. */
  isWhole(): boolean;
  /** A line could not be written; the report works on a full disk too. */
  lostLines(): void;
  /** Releases the folder, and leaves its content. */
  release(): void;
  /** Removes the folder with its content. */
  remove(): void;
}

/** Whether a process left calls there that are in no books yet. */
export function hasLeftFlights(flights: string): boolean {
  return names(flights).some((owner) => names(join(flights, owner)).some((name) => SEGMENT.test(name)));
}

/** The number of a file in such a folder. */
export function fileNumber(path: string): number {
  return Number.parseInt(basename(path), 10);
}

/** Makes the process's own folder. @throws Error of the system */
export function makeFolder(flights: string, owner: string): FlightFolder {
  const path = join(flights, owner);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const folder = take(path, owner);
  if (folder === undefined) throw new Error(`${path} is in use by another process`);
  writeFileSync(join(path, WHOLE), '', { mode: 0o600 });
  return folder;
}

/**
 * Takes the folders of processes that are gone, each when the loop comes to it: a loop that ends early holds none of
 * the later ones.
 */
export function* takeLeft(flights: string, own: string): Generator<FlightFolder> {
  for (const owner of names(flights)) {
    const left = owner === own ? undefined : take(join(flights, owner), owner);
    if (left !== undefined) yield left;
  }
}

function take(path: string, owner: string): FlightFolder | undefined {
  let unlock: (() => void) | undefined;
  try {
    unlock = lockFile(join(path, LOCK));
  } catch {
    // Another process has just removed it.
    return undefined;
  }
  if (unlock === undefined) return undefined;
  const release = unlock;
  return {
    owner,
    path,
    segments: () =>
      names(path)
        .filter((name) => SEGMENT.test(name))
        .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
        .map((name) => join(path, name)),
    segmentPath: (number) => join(path, `${number}.lines`),
    isWhole: () => existsSync(join(path, WHOLE)),
    lostLines: () => rmSync(join(path, WHOLE), { force: true }),
    release,
    remove() {
      // The lock is removed last, with its folder: a process that takes the lock before that finds no lines.
      for (const name of names(path)) if (!name.startsWith(LOCK)) rmSync(join(path, name), { force: true });
      release();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
