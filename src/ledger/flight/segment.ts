// One file of lines, and which of its lines are still needed.
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** A call in flight as it is written: its lines, and the file that has them. */
export interface Flight {
  lines: string;
  segment: Segment;
}

/** Texts up to this many UTF-16 units are written from one buffer. */
const MOST_BUFFERED = 256 * 1024;
/** Lines of one turn as bytes: nothing is written but within a turn, so one buffer serves all files. */
let shared: Buffer | undefined;

/**
 * A file that is written from its beginning to its end. Its bytes are the system's when a write returns: kill -9 loses
 * none of them. A file that is not needed any more is used again, because writing over what the system has in memory
 * costs a third of making it: lines of its earlier use that remain after its end have another number.
 */
export class Segment {
  readonly number: number;
  /** Bytes. */
  size = 0;
  /** Calls whose lines are needed. */
  readonly flights = new Set<Flight>();
  /** Entries up to this one of the request log are in it. */
  lastPosition = 0;
  /** Entries in it that the request log spilled, to read from here when the store takes them again. */
  spilled = 0;
  readonly path: string;
  readonly #fd: number;
  #isOpen = true;

  /** @param used a file of the same folder that is not needed any more @throws Error of the system */
  constructor(number: number, path: string, used?: Segment) {
    this.number = number;
    this.path = path;
    if (used === undefined) {
      this.#fd = openSync(path, 'wx', 0o600);
    } else {
      renameSync(used.path, path);
      this.#fd = used.#fd;
      used.#isOpen = false;
    }
  }

  /** Appends whole lines. @throws Error of the system, e.g. when the disk is full; then none of them counts */
  append(lines: string): void {
    if (!this.#isOpen) throw new Error('the file of the in-flight journal is closed');
    let bytes: Buffer;
    let length: number;
    if (lines.length > MOST_BUFFERED) {
      bytes = Buffer.from(lines, 'utf8');
      length = bytes.length;
    } else {
      shared ??= Buffer.allocUnsafeSlow(MOST_BUFFERED * 3);
      bytes = shared;
      length = bytes.write(lines, 0, 'utf8');
    }
    let written = 0;
    while (written < length)
      written += writeSync(this.#fd, bytes, written, length - written, this.size + written);
    this.size += length;
  }

  /** No more lines are appended. */
  close(): void {
    // Once: the number may be another file's by now.
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#fd);
  }

  remove(): void {
    this.close();
    rmSync(this.path, { force: true });
  }
}
