// The files that segments are in: one for each bucket, written at its end and dropped as a whole. Who knows a segment
// has it from the table of segments; bytes that no row of it names are of a writer that was killed.
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ByteSource } from './blobs.ts';
import type { SegmentRow } from './manifest.ts';
import { Segment } from './segment.ts';
import type { BuiltSegment } from './segment-build.ts';
import type { SegmentHead } from './segment-head.ts';

/** Files held open. */
const OPEN = 64;

/** Reads segments. Throws the system's error when a file is gone. */
export class SegmentFiles {
  readonly #folder: string;
  readonly #open = new Map<string, number>();
  readonly #segments = new Map<number, Segment>();
  readonly #kept: number;

  /** @param kept heads held in memory. */
  constructor(folder: string, kept: number) {
    this.#folder = folder;
    this.#kept = kept;
  }

  segment(row: SegmentRow): Segment {
    const found = this.#segments.get(row.id);
    if (found) return found;
    const bytes = Buffer.allocUnsafe(row.head);
    this.#read(row.file, row.offset + row.length - row.head, bytes);
    const { file, offset } = row;
    const source: ByteSource = { read: (at, into) => this.#read(file, offset + at, into) };
    const segment = new Segment(JSON.parse(bytes.toString('utf8')) as SegmentHead, source);
    const [oldest] = this.#segments.keys();
    if (this.#segments.size >= this.#kept && oldest !== undefined) this.#segments.delete(oldest);
    this.#segments.set(row.id, segment);
    return segment;
  }

  /** Lets go of all files and heads: some may have been dropped. */
  forget(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
    this.#segments.clear();
  }

  #read(file: string, offset: number, into: Uint8Array): void {
    const fd = this.#open.get(file) ?? this.#openFile(file);
    for (let done = 0; done < into.length; ) {
      const read = readSync(fd, into, done, into.length - done, offset + done);
      if (read === 0) throw new Error(`the log file ${file} ends before its segment`);
      done += read;
    }
  }

  #openFile(file: string): number {
    const [oldest] = this.#open;
    if (this.#open.size >= OPEN && oldest !== undefined) {
      closeSync(oldest[1]);
      this.#open.delete(oldest[0]);
    }
    const fd = openSync(join(this.#folder, file), 'r');
    this.#open.set(file, fd);
    return fd;
  }
}

/** Writes a segment at the end of a file, which is made when it is not there; durable when it returns. */
export function appendSegment(
  folder: string,
  file: string,
  { bytes, head }: Pick<BuiltSegment, 'bytes' | 'head'>,
): Pick<SegmentRow, 'offset' | 'length' | 'head'> {
  const headBytes = Buffer.from(JSON.stringify(head));
  const fd = openSync(join(folder, file), 'a', 0o600);
  try {
    const offset = fstatSync(fd).size;
    for (const part of [bytes, headBytes]) {
      for (let done = 0; done < part.length; ) done += writeSync(fd, part, done);
    }
    fdatasyncSync(fd);
    return { offset, length: bytes.length + headBytes.length, head: headBytes.length };
  } finally {
    closeSync(fd);
  }
}
