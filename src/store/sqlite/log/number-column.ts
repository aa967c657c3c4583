// A column of numbers: whole ones as differences to the least, in as few bytes as hold the greatest.
import type { Blobs, ByteSource, Place } from './blobs.ts';

/** `width` 0: all are `least`; 8: as they are; else `least` is added to each. */
export interface NumberHead {
  readonly width: 0 | 1 | 2 | 4 | 8;
  readonly least: number;
  readonly greatest: number;
  readonly at?: Place;
}

/** A column as it is stored: each value is `least` plus the stored one; undefined values: all are `least`. */
export interface PackedNumbers {
  readonly values: PackedValues | undefined;
  readonly least: number;
}

export type PackedValues = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Writes the first `count` values. */
export function encodeNumbers(values: Float64Array, count: number, blobs: Blobs): NumberHead {
  let least = count > 0 ? (values[0] as number) : 0;
  let greatest = least;
  let whole = true;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
    if (!Number.isSafeInteger(value)) whole = false;
  }
  if (least === greatest) return { width: 0, least, greatest };
  const range = greatest - least;
  if (!whole || range > 0xffffffff) {
    const at = blobs.add(bytesOf(values.slice(0, count)));
    return { width: 8, least, greatest, at };
  }
  const width = range <= 0xff ? 1 : range <= 0xffff ? 2 : 4;
  const packed = packedOf(width, count);
  for (let i = 0; i < count; i++) packed[i] = (values[i] as number) - least;
  return { width, least, greatest, at: blobs.add(bytesOf(packed)) };
}

/** Reads a column's values as they are kept, into a scratch that has eight bytes for each of `count`. */
export function readPacked(
  { width, least, at }: NumberHead,
  count: number,
  source: ByteSource,
  scratch: ArrayBuffer,
): PackedNumbers {
  if (width === 0 || at === undefined) return { values: undefined, least };
  source.read(at[0], new Uint8Array(scratch, 0, at[1]));
  if (width === 8) return { values: new Float64Array(scratch, 0, count), least: 0 };
  if (width === 1) return { values: new Uint8Array(scratch, 0, count), least };
  if (width === 2) return { values: new Uint16Array(scratch, 0, count), least };
  return { values: new Uint32Array(scratch, 0, count), least };
}

/** Writes the values that are meant into `into`, which has room for `count`. */
export function widen({ values, least }: PackedNumbers, count: number, into: Float64Array): void {
  if (values === undefined) {
    into.fill(least, 0, count);
    return;
  }
  into.set(values);
  if (least === 0) return;
  for (let i = 0; i < count; i++) into[i] = (into[i] as number) + least;
}

function packedOf(width: 1 | 2 | 4, count: number): Uint8Array | Uint16Array | Uint32Array {
  if (width === 1) return new Uint8Array(count);
  return width === 2 ? new Uint16Array(count) : new Uint32Array(count);
}

export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
