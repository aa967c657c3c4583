// Bodies, in a database file for each bucket: those of a batch are compressed together, and found by time and id.
import { closeSync, existsSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { BodiesRecord } from '../../log-store.ts';
import { bodyFile, bodyFiles, bucketOfFile } from './body-names.ts';
import { dayOf, isOver, UNLIMITED } from './buckets.ts';
import type { LogDamage } from './damage.ts';
import { TextHash } from './hash.ts';

/** Whose bodies a line of a batch has. */
export type BodyKey = readonly [
  organisationId: string,
  id: string,
  createdAt: number,
  keepDays: number | undefined,
];

/** Databases that the writer holds open. */
const OPEN = 4;
/** Characters that are compressed together: reading one body decompresses all of them. */
const FRAME = 512 * 1024;

/** The places' hashes need no seed of their own: the text decides. */
const hash = new TextHash(0x51);

interface BodyDatabase {
  readonly database: DatabaseSync;
  has(time: number, key: number): boolean;
  write(lines: readonly (readonly [key: BodyKey, line: string])[]): void;
}

/** Writes bodies. */
export class BodyFiles {
  readonly #folder: string;
  readonly #open = new Map<string, BodyDatabase>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores lines that are not stored yet; a bucket's all or none. */
  append(keys: readonly BodyKey[], lines: readonly string[]): null {
    const buckets = new Map<string, (readonly [BodyKey, string])[]>();
    for (const [at, key] of keys.entries()) {
      const name = bodyFile({ day: dayOf(key[2]), keep: key[3] ?? UNLIMITED });
      const found = buckets.get(name) ?? [];
      found.push([key, lines[at] ?? '']);
      buckets.set(name, found);
    }
    for (const [name, entries] of buckets) this.#database(name).write(entries);
    return null;
  }

  /** Drops expired buckets; returns their files. */
  expire(days: number, now: number): string[] {
    const over = bodyFiles(this.#folder).filter((name) => isOver(bucketOfFile(name), days, now));
    for (const name of over) {
      this.#open.get(name)?.database.close();
      this.#open.delete(name);
      for (const tail of ['', '-wal', '-shm']) {
        const path = join(this.#folder, `${name}${tail}`);
        if (existsSync(path)) unlinkSync(path);
      }
    }
    return over;
  }

  close(): void {
    for (const { database } of this.#open.values()) database.close();
    this.#open.clear();
  }

  #database(name: string): BodyDatabase {
    const found = this.#open.get(name);
    if (found) return found;
    const [oldest] = this.#open;
    if (this.#open.size >= OPEN && oldest !== undefined) {
      oldest[1].database.close();
      this.#open.delete(oldest[0]);
    }
    const database = openBodyDatabase(join(this.#folder, name));
    this.#open.set(name, database);
    return database;
  }
}

function openBodyDatabase(path: string): BodyDatabase {
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 5000 });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2048;
    CREATE TABLE IF NOT EXISTS frames (id INTEGER PRIMARY KEY, lines BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS places (
      time INTEGER NOT NULL, key INTEGER NOT NULL, frame INTEGER NOT NULL, line INTEGER NOT NULL,
      PRIMARY KEY (time, key, frame, line)
    ) STRICT, WITHOUT ROWID;`);
  const addFrame = database.prepare('INSERT INTO frames (lines) VALUES (?) RETURNING id');
  const addPlace = database.prepare('INSERT INTO places VALUES (?, ?, ?, ?)');
  const find = database.prepare('SELECT 1 FROM places WHERE time = ? AND key = ?');
  const has = (time: number, key: number): boolean => find.get(time, key) !== undefined;

  function writeFrame(
    keys: readonly (readonly [time: number, key: number])[],
    lines: readonly string[],
  ): void {
    const bytes = zstdCompressSync(lines.join('\n'), {
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
    });
    const frame = Number(addFrame.get(bytes)?.id);
    for (const [line, [time, key]] of keys.entries()) addPlace.run(time, key, frame, line);
  }

  return {
    database,
    has,
    write: (entries) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        let keys: [number, number][] = [];
        let lines: string[] = [];
        let length = 0;
        const taken = new Set<string>();
        for (const [[org, id, time], line] of entries) {
          const key = bodyKey(org, id);
          const name = `${time} ${key}`;
          if (taken.has(name) || has(time, key)) continue;
          taken.add(name);
          keys.push([time, key]);
          lines.push(line);
          length += line.length;
          if (length < FRAME) continue;
          writeFrame(keys, lines);
          [keys, lines, length] = [[], [], 0];
        }
        if (keys.length > 0) writeFrame(keys, lines);
        database.exec('COMMIT');
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
  };
}

/** The line of a body; null: there is none. @param tell told of a file that cannot be read; its bodies are left out */
export function readBody(
  folder: string,
  org: string,
  id: string,
  time: number,
  tell: (damage: LogDamage) => void,
): string | null {
  const date = bodyFile({ day: dayOf(time), keep: UNLIMITED }).slice(0, -'.db'.length);
  for (const name of bodyFiles(folder).filter((file) => file.startsWith(`${date}.`))) {
    try {
      const line = withBodyDatabase(folder, name, (database) => lineOf(database, org, id, time));
      if (line !== null && line !== undefined) return line;
    } catch (error) {
      if (!isBodyDamage(error)) throw error;
      tell({ file: name, why: error.message, lost: true });
    }
  }
  return null;
}

/** SQLite's corrupt and not-a-database, and what zstd cannot unpack; anything else is trouble of the moment. */
export function isBodyDamage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as Error & { readonly code?: string; readonly errcode?: number };
  return /^ZSTD_/.test(code ?? '') || errcode === 11 || errcode === 26;
}

function lineOf(database: DatabaseSync, org: string, id: string, time: number): string | null {
  const places = database
    .prepare('SELECT line, lines FROM places JOIN frames ON id = frame WHERE time = ? AND key = ?')
    .all(time, bodyKey(org, id));
  for (const { line, lines } of places) {
    const text = unpackedBodies(lines as Uint8Array)[Number(line)] ?? '';
    const found = JSON.parse(text) as BodiesRecord;
    if (found.id === id && found.organisationId === org && found.createdAt === time) return text;
  }
  return null;
}

/** The lines of one frame after a place, oldest bucket first. Undefined: there are none. */
export function scanBodies(
  folder: string,
  after: readonly [file: string, frame: number] | null,
): { readonly lines: string[]; readonly file: string; readonly frame: number } | null {
  for (const name of bodyFiles(folder).sort()) {
    if (after !== null && name < after[0]) continue;
    const above = after !== null && name === after[0] ? after[1] : 0;
    const found = withBodyDatabase(folder, name, (database) =>
      database.prepare('SELECT id, lines FROM frames WHERE id > ? ORDER BY id LIMIT 1').get(above),
    );
    if (found)
      return { lines: unpackedBodies(found.lines as Uint8Array), file: name, frame: Number(found.id) };
  }
  return null;
}

/** Runs on a file's database; undefined: it was dropped. */
function withBodyDatabase<T>(
  folder: string,
  name: string,
  run: (database: DatabaseSync) => T,
): T | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    const there = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'places'`).get();
    return there === undefined ? undefined : run(database);
  } finally {
    database.close();
  }
}

/** The lines of a batch. */
export function unpackedBodies(bytes: Uint8Array): string[] {
  return zstdDecompressSync(bytes).toString('utf8').split('\n');
}

/** Under which number the bodies of a request are found, beside their time. */
export function bodyKey(org: string, id: string): number {
  return hash.number(`${org.length} ${org}${id}`);
}
