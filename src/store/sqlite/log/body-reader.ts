// Bodies read one after the other: files and batches that the next one is likely to be in stay open.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { BodiesRecord } from '../../log-store.ts';
import { bodyKey, isBodyDamage, unpackedBodies } from './body-files.ts';
import { bodyFileDays } from './body-names.ts';
import { dayOf } from './buckets.ts';
import type { LogDamage } from './damage.ts';

/** Unpacked batches that are held. */
const FRAMES = 4;

interface OpenFile {
  readonly database: DatabaseSync;
  readonly places: StatementSync;
  readonly frames: StatementSync;
}

export class BodyReader {
  readonly #folder: string;
  readonly #tell: (damage: LogDamage) => void;
  /** Names of files by day. */
  readonly #days: ReadonlyMap<number, readonly string[]>;
  readonly #open = new Map<string, OpenFile | undefined>();
  readonly #frames = new Map<string, readonly string[]>();
  #bytes = 0;

  /** @param tell told of a file that cannot be read; its bodies are left out */
  constructor(folder: string, tell: (damage: LogDamage) => void) {
    this.#folder = folder;
    this.#tell = tell;
    this.#days = bodyFileDays(folder);
  }

  /** Bytes unpacked so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there are bodies of a span of time, its end included. */
  hasWithin(from: number, to: number): boolean {
    return [...this.#days.keys()].some((day) => day >= dayOf(from) && day <= dayOf(to));
  }

  /** What was said in a request; undefined: it was not kept. */
  find(org: string, id: string, time: number): BodiesRecord | undefined {
    for (const name of this.#days.get(dayOf(time)) ?? []) {
      try {
        const found = this.#findIn(name, org, id, time);
        if (found !== undefined) return found;
      } catch (error) {
        if (!isBodyDamage(error)) throw error;
        this.#tell({ file: name, why: error.message, lost: true });
      }
    }
    return undefined;
  }

  close(): void {
    for (const file of this.#open.values()) file?.database.close();
    this.#open.clear();
    this.#frames.clear();
  }

  #findIn(name: string, org: string, id: string, time: number): BodiesRecord | undefined {
    const file = this.#file(name);
    if (file === undefined) return undefined;
    for (const { frame, line } of file.places.all(time, bodyKey(org, id))) {
      const text = this.#lines(name, file, Number(frame))[Number(line)];
      const record = text === undefined ? undefined : (JSON.parse(text) as BodiesRecord);
      if (record?.id === id && record.organisationId === org && record.createdAt === time) return record;
    }
    return undefined;
  }

  /** Undefined: it was dropped, or has nothing in it yet. */
  #file(name: string): OpenFile | undefined {
    if (this.#open.has(name)) return this.#open.get(name);
    const path = join(this.#folder, name);
    if (!existsSync(path)) return undefined;
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    let file: OpenFile | undefined;
    try {
      const made = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'places'`).get();
      if (made !== undefined)
        file = {
          database,
          places: database.prepare('SELECT frame, line FROM places WHERE time = ? AND key = ?'),
          frames: database.prepare('SELECT lines FROM frames WHERE id = ?'),
        };
    } finally {
      if (file === undefined) database.close();
    }
    this.#open.set(name, file);
    return file;
  }

  #lines(name: string, { frames }: OpenFile, frame: number): readonly string[] {
    const key = `${name} ${frame}`;
    const held = this.#frames.get(key);
    if (held) return held;
    const bytes = frames.get(frame)?.lines;
    const lines = bytes instanceof Uint8Array ? unpackedBodies(bytes) : [];
    this.#bytes += lines.reduce((sum, line) => sum + line.length + 1, 0);
    const [oldest] = this.#frames.keys();
    if (this.#frames.size >= FRAMES && oldest !== undefined) this.#frames.delete(oldest);
    this.#frames.set(key, lines);
    return lines;
  }
}
