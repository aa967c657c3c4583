// The writer's side of the log: batches into the tail as they come, and changes of the list of segments.
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { StatementCache } from '../statement-cache.ts';
import { FailureError } from '../worker-loop.ts';
import { TextHash } from './hash.ts';
import { type EntryKey, KnownEntries } from './known-entries.ts';
import { changeSegments, readState, type SegmentChange } from './manifest.ts';
import { SegmentFiles } from './segment-files.ts';

/** Heads of segments that entries of the past are looked up in. */
const HEADS = 32;

/** Entries of a row: a block of the tail is whole rows, and its entries are numbered by 16 bits. */
const ROW = 4096;

/** Begin of an entry as it is nearly always: id, organisation, workspace, time, status, trace. */
const PLAIN = /\["([^"\\]*)","([^"\\]*)","[^"\\]*",(\d{1,15}),(\d{1,15}),"/y;

export interface TailWriter {
  /** Stores a batch's entries that are not stored yet; answers how many entries the tail has. */
  append(batch: string): number;
  change(change: SegmentChange): null;
  /** Entries of the tail. */
  size(): number;
  /** Called when an append is rolled back. */
  forget(): void;
}

export function tailWriter(cached: StatementCache, folder: string): TailWriter {
  const files = new SegmentFiles(folder, HEADS);
  const insert = cached('INSERT INTO log_tail (seq, count, min_time, entries) VALUES (?, ?, ?, ?)');
  const state = readState(cached);
  const known = new KnownEntries(cached, files, new TextHash(state.seed));
  let sealed = state.sealed;
  let seq: number | undefined;

  function load(): number {
    const [last] = cached('SELECT max(seq) FROM log_tail').get() as unknown as [number | null];
    sealed = readState(cached).sealed;
    known.load();
    return last ?? sealed;
  }

  return {
    append: (batch) => {
      let last = seq ?? load();
      // A failure from here on leaves keys without an entry.
      seq = undefined;
      known.begin();
      let row = new TailRowText();
      const write = (): void => {
        if (row.count === 0) return;
        last += row.count;
        insert.run(last, row.count, row.minTime, row.text(batch));
      };
      for (let at = 0; at < batch.length; ) {
        const key = keyAt(batch, at);
        const end = batch.indexOf('\n', at) + 1;
        if (known.add(key, last + row.count + 1)) row.add(key.createdAt, at, end);
        at = end;
        if (row.count < ROW) continue;
        write();
        row = new TailRowText();
      }
      write();
      seq = last;
      return last - sealed;
    },

    change: (change) => {
      changeSegments(cached, change);
      if (change.sealed) sealed = change.sealed.to;
      known.reloadSegments();
      return null;
    },

    size: () => {
      seq ??= load();
      return seq - sealed;
    },

    forget: () => {
      seq = undefined;
    },
  };
}

/** Lines of a batch that make a row: consecutive ones are taken as one piece. */
class TailRowText {
  count = 0;
  minTime = Number.MAX_SAFE_INTEGER;
  readonly #pieces: [from: number, to: number][] = [];

  add(time: number, from: number, to: number): void {
    this.count++;
    if (time < this.minTime) this.minTime = time;
    const last = this.#pieces.at(-1);
    if (last && last[1] === from) last[1] = to;
    else this.#pieces.push([from, to]);
  }

  text(batch: string): string {
    return this.#pieces.map(([from, to]) => batch.slice(from, to)).join('');
  }
}

/** What is at a place of a batch. @throws FailureError when it is no entry */
function keyAt(batch: string, at: number): EntryKey {
  PLAIN.lastIndex = at;
  const plain = PLAIN.exec(batch);
  if (plain) return { id: plain[1] ?? '', organisationId: plain[2] ?? '', createdAt: Number(plain[3]) };
  const line = batch.slice(at, batch.indexOf('\n', at));
  const [id, organisationId, workspaceId, createdAt, statusCode, traceId] = JSON.parse(line) as EntryTuple;
  if (typeof id !== 'string' || typeof traceId !== 'string') throw brokenEntry('id and traceId');
  if (typeof organisationId !== 'string' || typeof workspaceId !== 'string') throw brokenEntry('scope');
  if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(statusCode)) throw brokenEntry('numbers');
  return { id, organisationId, createdAt };
}

function brokenEntry(what: string): FailureError {
  return new FailureError({ reason: 'validation_failed', message: `a log entry has broken ${what}` });
}
