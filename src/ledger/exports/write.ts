// Writes an export: pages of the log become lines, lines become bytes, and each write is followed by a checkpoint. The
// next turn or owner resumes from the last checkpoint, so that no line is written twice and none is missing.
import { setImmediate } from 'node:timers/promises';
import type { RequestRecord } from '../../call/record.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { BlobStore } from '../../store/blobs.ts';
import type { BodiesRecord, LogStore } from '../../store/log-store.ts';
import { type ExportRun, filterOf } from './collection.ts';
import { exportLine, needsBodies } from './fields.ts';

/** What writing takes. */
export interface WriteDeps {
  readonly store: Pick<LogStore, 'page' | 'bodies'>;
  readonly blobs: BlobStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Characters of one write, about; a checkpoint follows each. */
  readonly writeLength?: number;
}

/** Entries of one read; fewer when their bodies are read, too. */
const PAGE = 250;
const PAGE_WITH_BODIES = 50;
/** Entries whose bodies are in memory at once; those of one are 4 MB at the most, and all may come in one turn. */
const AT_ONCE = 2;
const WRITE_LENGTH = 1024 * 1024;
/** A checkpoint is written after so many milliseconds, too. */
const KEPT_MS = 5000;

/** One turn of an export. */
export interface Turn {
  /** The name of the bytes that it writes: it continues the run's last part when that has the same name. */
  readonly name: string;
  /** Writes a checkpoint; false: another instance has taken over, and this turn ends. */
  readonly keep: (run: ExportRun) => Promise<boolean>;
  /** Asked between pages; true: the turn writes a checkpoint, and ends for now. */
  readonly yields: () => boolean;
}

/**
 * @param begin the run's last checkpoint
 * @returns whether the turn's state is stored: all is written, or it yielded; false: another instance has taken over
 */
export async function writeExport(
  deps: WriteDeps,
  scope: TenantScope,
  begin: ExportRun,
  { name, keep, yields }: Turn,
): Promise<boolean> {
  const filter = filterOf(begin.filter);
  const withBodies = needsBodies(begin.fields);
  const { writeLength = WRITE_LENGTH } = deps;
  const own = begin.parts.at(-1)?.name === name ? begin.parts.at(-1) : undefined;
  const before = own === undefined ? begin.parts : begin.parts.slice(0, -1);
  const bytesBefore = begin.bytes - (own?.bytes ?? 0);
  const lines = new Lines(deps.blobs, name, writeLength, own?.bytes);
  let run = begin;
  let keptBytes = lines.bytes;
  let keptAt = deps.now();

  const stand = async (more: Partial<ExportRun> = {}): Promise<boolean> => {
    await lines.write();
    const parts = lines.bytes === 0 ? before : [...before, { name, bytes: lines.bytes }];
    run = { ...run, ...more, parts, bytes: bytesBefore + lines.bytes };
    keptBytes = lines.bytes;
    keptAt = deps.now();
    return keep(run);
  };

  for (;;) {
    if (yields()) return stand();
    const { entries, next } = await deps.store.page(scope, filter, {
      page: 0,
      pageSize: withBodies ? PAGE_WITH_BODIES : PAGE,
      order: 'desc',
      count: false,
      ...(run.next === undefined ? {} : { after: run.next }),
    });
    const passed = Math.min(entries.length, run.skip - run.passed);
    const wanted = entries.slice(passed, passed + run.take - run.rows);
    for (let at = 0; at < wanted.length; at += withBodies ? AT_ONCE : PAGE) {
      const some = wanted.slice(at, at + (withBodies ? AT_ONCE : PAGE));
      const bodies = withBodies ? await bodiesOf(deps.store, scope, some) : [];
      for (const [i, entry] of some.entries()) {
        lines.add(await exportLine(run.fields, entry, bodies[i]));
      }
      if (lines.isFull) await lines.write();
      // Calls come first.
      await setImmediate();
    }
    const { next: _, ...rest } = run;
    run = {
      ...rest,
      passed: run.passed + passed,
      rows: run.rows + wanted.length,
      ...(next === undefined ? {} : { next }),
    };
    if (next === undefined || run.rows >= run.take) return stand({ endedAt: deps.now() });
    const due = lines.bytes - keptBytes >= writeLength || deps.now() - keptAt >= KEPT_MS;
    if (due && !(await stand())) return false;
  }
}

/** Collects lines and writes them as the bytes of one name. */
class Lines {
  readonly #blobs: BlobStore;
  readonly #name: string;
  readonly #length: number;
  #text = '';
  /** Written. */
  bytes: number;

  /** @param bytes written before */
  constructor(blobs: BlobStore, name: string, length: number, bytes = 0) {
    this.bytes = bytes;
    this.#blobs = blobs;
    this.#name = name;
    this.#length = length;
  }

  add(line: string): void {
    this.#text += `${line}\n`;
  }

  get isFull(): boolean {
    return this.#text.length >= this.#length;
  }

  async write(): Promise<void> {
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#text = '';
    for (let at = 0; at < bytes.length; at += this.#length) {
      const piece = bytes.subarray(at, at + this.#length);
      await this.#blobs.write(this.#name, this.bytes, piece);
      this.bytes += piece.length;
    }
  }
}

/** Bodies, in the order of the entries. */
function bodiesOf(
  store: Pick<LogStore, 'bodies'>,
  scope: TenantScope,
  entries: readonly RequestRecord[],
): Promise<(BodiesRecord | undefined)[]> {
  return Promise.all(
    entries.map(({ id, createdAt, bodies }) => (bodies ? store.bodies(scope, id, createdAt) : undefined)),
  );
}
