// The parts of a segment one after another, each at a multiple of eight.
import { crc32 } from 'node:zlib';

/** Where a part is: its first byte within the segment, and its length. */
export type Place = readonly [offset: number, length: number];

/** Collects parts. */
export class Blobs {
  readonly #parts: Uint8Array[] = [];
  readonly #checksums: number[] = [];
  #length = 0;

  /** Of each part in turn: its first byte, its length and its CRC-32. */
  get checksums(): readonly number[] {
    return this.#checksums;
  }

  get length(): number {
    return this.#length;
  }

  add(bytes: Uint8Array): Place {
    const place: Place = [this.#length, bytes.length];
    this.#checksums.push(...place, crc32(bytes));
    this.#push(bytes);
    const rest = this.#length % 8;
    if (rest > 0) this.#push(new Uint8Array(8 - rest));
    return place;
  }

  /** All parts as one. */
  join(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  #push(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }
}

/** What a segment is read from. */
export interface ByteSource {
  /** Fills `into` from its begin on. Throws when there are fewer bytes. */
  read(offset: number, into: Uint8Array): void;
  /** The error for bytes that cannot be what was written. */
  readonly broken?: (why: string) => Error;
}

/** A segment that was never written. */
export function memorySource(bytes: Uint8Array): ByteSource {
  return { read: (offset, into) => into.set(bytes.subarray(offset, offset + into.length)) };
}
