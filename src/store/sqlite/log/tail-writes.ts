// The writer's side of the log: batches into the tail as they come, and changes of the list of segments.
import type { StatementCache } from '../statement-cache.ts';
import { eachKey, keyAt } from './entry-key.ts';
import { TextHash } from './hash.ts';
import { KnownEntries } from './known-entries.ts';
import { changeSegments, readState, type SegmentChange, tailSize } from './manifest.ts';
import { SegmentFiles } from './segment-files.ts';

/** Heads of segments that entries of the past are looked up in. */
const HEADS = 32;

/** Entries of a row: a block of the tail is whole rows, and its entries are numbered by 16 bits. */
const ROW = 4096;

export interface TailWriter {
  /**
   * Stores a batch's entries that are not stored yet; answers how many entries the tail has. Null: nothing is stored,
   * and the caller repeats `readKeys` until it answers true.
   */
  append(batch: string): number | null;
  /** Learns some more of the entries that were not sealed at the start; true: that was all. */
  readKeys(): boolean;
  change(change: SegmentChange): null;
  /** Entries of the tail. */
  size(): number;
  /** Called when an append is rolled back. */
  forget(): void;
}

/** @param generation newest entries that are known by heart */
export function tailWriter(cached: StatementCache, folder: string, generation?: number): TailWriter {
  const files = new SegmentFiles(folder, HEADS);
  const insert = cached('INSERT INTO log_tail (seq, count, min_time, entries) VALUES (?, ?, ?, ?)');
  const state = readState(cached);
  const known = new KnownEntries(cached, files, new TextHash(state.seed), generation);
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
      let mustRead = false;
      if (known.isBehind) eachKey(batch, (key) => (mustRead ||= known.mustRead(key)));
      if (mustRead) {
        seq = last;
        return null;
      }
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

    readKeys: () => {
      seq ??= load();
      return known.readKeys();
    },

    size: () => (seq === undefined ? tailSize(cached) : seq - sealed),

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
