// The files that segments are in: one for each bucket, written at its end and dropped as a whole. Who knows a segment
// has it from the table of segments; bytes that no row of it names are of a writer that was killed.
import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ByteSource } from './blobs.ts';
import { DamagedSegment } from './damage.ts';
import type { SegmentRow } from './manifest.ts';
import { Segment } from './segment.ts';
import type { BuiltSegment } from './segment-build.ts';
import { checkedSource, checkParts, damagedAt, headBytesOf, headOf } from './segment-checksums.ts';

/** Files held open. */
const OPEN = 64;
/** A pipe in the place of a file must not be waited for. */
const AS_READER = constants.O_RDONLY | constants.O_NONBLOCK;
/** What the system says of one file: it is none, a loop of links, closed to this process, or on a bad disk. */
const UNREADABLE = new Set([
  'EISDIR',
  'ENOTDIR',
  'ELOOP',
  'EACCES',
  'EPERM',
  'EIO',
  'ENXIO',
  'ESPIPE',
  'EAGAIN',
]);

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

  /** @throws DamagedSegment when its head is not as it was written; its columns throw the same when they are read */
  segment(row: SegmentRow): Segment {
    const found = this.#segments.get(row.id);
    if (found) return found;
    const segment = this.#opened(row);
    const [oldest] = this.#segments.keys();
    if (this.#segments.size >= this.#kept && oldest !== undefined) this.#segments.delete(oldest);
    this.#segments.set(row.id, segment);
    return segment;
  }

  /** Reads all of a segment. @throws DamagedSegment; Error of the system when its file is gone */
  check(row: SegmentRow): void {
    checkParts(this.segment(row).head, this.#source(row), row);
  }

  /** Whether all of a segment can be read. @throws Error of the system for other trouble with its file */
  isWhole(row: SegmentRow): boolean {
    try {
      this.check(row);
      return true;
    } catch (error) {
      if (error instanceof DamagedSegment || (error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  #opened(row: SegmentRow): Segment {
    const source = this.#source(row);
    const bytes = Buffer.allocUnsafe(row.head);
    source.read(row.length - row.head, bytes);
    const head = headOf(bytes, row);
    return new Segment(head, checkedSource(head, source, row));
  }

  #source(row: SegmentRow): ByteSource {
    return { read: (at, into) => this.#read(row, row.offset + at, into) };
  }

  /** Closes all files and forgets all heads: some may have been dropped. */
  forget(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
    this.#segments.clear();
  }

  #read(row: SegmentRow, offset: number, into: Uint8Array): void {
    for (let done = 0; done < into.length; ) {
      const read = this.#readSome(row, into.subarray(done), offset + done);
      if (read === 0) throw damagedAt(row, 'the file ends before it');
      done += read;
    }
  }

  #readSome(row: SegmentRow, into: Uint8Array, at: number): number {
    try {
      const fd = this.#open.get(row.file) ?? this.#openFile(row.file);
      return readSync(fd, into, 0, into.length, at);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      throw UNREADABLE.has(code) ? damagedAt(row, `the file cannot be read (${code})`) : error;
    }
  }

  #openFile(file: string): number {
    const [oldest] = this.#open;
    if (this.#open.size >= OPEN && oldest !== undefined) {
      closeSync(oldest[1]);
      this.#open.delete(oldest[0]);
    }
    const fd = openSync(join(this.#folder, file), AS_READER);
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
  const headBytes = headBytesOf(head);
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
