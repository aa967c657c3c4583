// The log as a reader has it: its segments, and the tail made into segments in memory as far as it has come.
import { eachLine } from '../../log/entry-text.ts';
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { StatementCache } from '../statement-cache.ts';
import { memorySource } from './blobs.ts';
import { TextHash } from './hash.ts';
import { readSegments, readState, readTail, type SegmentRow, tailSize } from './manifest.ts';
import { Segment } from './segment.ts';
import { SegmentBuilder } from './segment-build.ts';
import type { SegmentFiles } from './segment-files.ts';
import { unsealed } from './unsealed.ts';

/** A segment, whether in a file or not. */
export interface Part {
  readonly minTime: number;
  readonly maxTime: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly count: number;
  /** Of a file's. */
  readonly row?: SegmentRow;
  open(): Segment;
}

/** What is there at one moment. */
export interface View {
  readonly parts: readonly Part[];
  readonly rollups: readonly SegmentRow[];
  readonly hash: TextHash;
  /** Rises when segments go. */
  readonly epoch: number;
  /** Segments that are listed and left out, by id. */
  readonly damaged: ReadonlySet<number>;
}

interface Line {
  readonly seq: number;
  readonly text: string;
}

interface TailPart extends Part {
  /** Which block of the tail; parts of one are made into one now and then. */
  readonly block: number;
  readonly lines: readonly Line[];
}

/** Entries of a block of the tail, and how many more of the tail are taken into memory at once. */
export interface TailBounds {
  readonly block: number;
  readonly unsealed: number;
}

export class LogView {
  readonly #cached: StatementCache;
  readonly #files: SegmentFiles;
  readonly #blockSize: number;
  readonly #most: number;
  #hash: TextHash | undefined;
  #epoch = -1;
  #lastId = 0;
  #sealed = -1;
  #entries: Part[] = [];
  #rollups: SegmentRow[] = [];
  #tail: TailPart[] = [];
  #tailEnd = 0;
  #block = 0;
  #blockCount = 0;
  readonly #damaged: ReadonlySet<number>;

  /** @param damaged segments that are left out, by id; may change */
  constructor(
    cached: StatementCache,
    files: SegmentFiles,
    { block, unsealed }: TailBounds,
    damaged: ReadonlySet<number> = new Set(),
  ) {
    this.#damaged = damaged;
    this.#blockSize = block;
    this.#most = unsealed;
    this.#cached = cached;
    this.#files = files;
  }

  /**
   * Reads what was added since the last call. Called in a transaction.
   * @throws FailureError store_unavailable when that is more than is held in memory: it is being sealed
   */
  refresh(): View {
    const { sealed, epoch, seed } = readState(this.#cached);
    this.#hash ??= new TextHash(seed);
    if (epoch !== this.#epoch) {
      this.#files.forget();
      this.#entries = [];
      this.#rollups = [];
      this.#lastId = 0;
      this.#epoch = epoch;
    }
    for (const row of readSegments(this.#cached, this.#lastId)) {
      this.#lastId = row.id;
      if (row.kind === 'sums') this.#rollups.push(row);
      else this.#entries.push({ ...row, row, open: () => this.#files.segment(row) });
    }
    if (sealed !== this.#sealed) this.#dropSealed(sealed);
    const unread = tailSize(this.#cached) - (this.#tailEnd - sealed);
    if (unread > this.#most) throw unsealed(unread);
    this.#readTail();
    const damaged = this.#damaged;
    const entries =
      damaged.size === 0 ? this.#entries : this.#entries.filter(({ row }) => !isAmong(damaged, row));
    const rollups =
      damaged.size === 0 ? this.#rollups : this.#rollups.filter((row) => !isAmong(damaged, row));
    return { parts: [...entries, ...this.#tail], rollups, hash: this.#hash, epoch, damaged };
  }

  #dropSealed(sealed: number): void {
    this.#sealed = sealed;
    this.#tail = this.#tail.filter(({ lastSeq }) => lastSeq > sealed);
    if (this.#tail.some(({ firstSeq }) => firstSeq <= sealed)) this.#tail = [];
    this.#tailEnd = Math.max(sealed, this.#tail.at(-1)?.lastSeq ?? sealed);
    this.#blockCount = this.#tail.reduce(
      (sum, { block, count }) => (block === this.#block ? sum + count : sum),
      0,
    );
  }

  #readTail(): void {
    let lines: Line[] = [];
    for (const [lastSeq, count, entries] of readTail(this.#cached, this.#tailEnd)) {
      let seq = lastSeq - count;
      eachLine(entries, (text) => {
        seq++;
        lines.push({ seq, text });
      });
      this.#tailEnd = lastSeq;
      this.#blockCount += count;
      if (this.#blockCount < this.#blockSize) continue;
      this.#addPart(lines);
      lines = [];
      this.#block++;
      this.#blockCount = 0;
    }
    this.#addPart(lines);
  }

  /** Parts of a block halve in size from the first to the last, so that each entry is built a few times only. */
  #addPart(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    let all = lines;
    for (let last = this.#tail.at(-1); last !== undefined; last = this.#tail.at(-1)) {
      if (last.block !== this.#block || last.count > 2 * all.length) break;
      this.#tail.pop();
      all = [...last.lines, ...all];
    }
    this.#tail.push(partOf(all, this.#block, this.#hash as TextHash));
  }
}

function isAmong(damaged: ReadonlySet<number>, row: SegmentRow | undefined): boolean {
  return row !== undefined && damaged.has(row.id);
}

function partOf(lines: readonly Line[], block: number, hash: TextHash): TailPart {
  const builder = new SegmentBuilder(lines.length, hash);
  for (const { seq, text } of lines) builder.add(seq, JSON.parse(text) as EntryTuple, text);
  const { head, bytes, entries, ...bounds } = builder.finish(false);
  const segment = new Segment(head, memorySource(bytes), entries);
  return { ...bounds, block, lines, count: lines.length, open: () => segment };
}
