// Rows as BSON, one after another (bsonspec.org, version 1.1). The driver's own writer takes four times as long,
// because it checks for every kind of value.
import mongoose from 'mongoose';

const { Binary, Decimal128 } = mongoose.mongo;

/** Bytes that rows are written into, to be used again. */
export interface RowBytes {
  /**
   * Adds a row. Members that are undefined are left out. @throws TypeError for a value that is no text, number, bigint,
   * boolean, list of texts, Binary or Decimal128
   */
  add(row: object): void;
  /** What was added since `clear`; the next row after that is written over it. */
  written(): Buffer;
  clear(): void;
}

const FIRST_BYTES = 64 * 1024;
/** Texts up to this many units are written by a loop: a call into the engine costs more than they do. */
const SHORT = 40;
const KIND = { double: 1, text: 2, list: 4, bytes: 5, boolean: 8, int: 16, long: 18, decimal: 19 } as const;
/** Lengths, kinds, ends and values of fixed length around one of its own length. */
const AROUND = 64;

/** Plain functions over variables: members of a class cost a look-up each, twenty of them for a row's member. */
export function rowBytes(): RowBytes {
  let bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let view = viewOf(bytes);
  let at = 0;

  function reserve(length: number): void {
    const wanted = at + length + AROUND;
    if (wanted <= bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, bytes.length * 2));
    bytes.copy(larger, 0, 0, at);
    bytes = larger;
    view = viewOf(larger);
  }

  /** A member's kind and name, with room for a value of fixed length. */
  function head(name: string, kind: number): void {
    const { length } = name;
    reserve(length);
    bytes[at++] = kind;
    // Names are members of the program's own types.
    for (let i = 0; i < length; i++) bytes[at++] = name.charCodeAt(i);
    bytes[at++] = 0;
  }

  function text(value: string): void {
    const { length } = value;
    reserve(length * 3);
    const begin = at + 4;
    let size = 0;
    if (length <= SHORT) {
      for (; size < length; size++) {
        const unit = value.charCodeAt(size);
        if (unit > 0x7f) break;
        bytes[begin + size] = unit;
      }
    }
    if (size < length) size = bytes.write(value, begin, 'utf8');
    bytes[begin + size] = 0;
    view.setInt32(at, size + 1, true);
    at = begin + size + 1;
  }

  /** As the driver does: whole numbers of 32 bits are such, others are doubles. */
  function number(name: string, value: number): void {
    if ((value | 0) === value && !Object.is(value, -0)) {
      head(name, KIND.int);
      view.setInt32(at, value, true);
      at += 4;
    } else {
      head(name, KIND.double);
      view.setFloat64(at, value, true);
      at += 8;
    }
  }

  function binary(value: mongoose.mongo.Binary): void {
    const length = value.length();
    reserve(length);
    view.setInt32(at, length, true);
    bytes[at + 4] = value.sub_type;
    bytes.set(value.buffer.subarray(0, length), at + 5);
    at += 5 + length;
  }

  function end(begin: number): void {
    bytes[at++] = 0;
    view.setInt32(begin, at - begin, true);
  }

  function object(name: string, value: unknown): void {
    if (Array.isArray(value)) {
      head(name, KIND.list);
      const begin = at;
      at += 4;
      for (let i = 0; i < value.length; i++) {
        head(`${i}`, KIND.text);
        text(value[i] as string);
      }
      end(begin);
    } else if (value instanceof Decimal128) {
      head(name, KIND.decimal);
      bytes.set(value.bytes, at);
      at += 16;
    } else if (value instanceof Binary) {
      head(name, KIND.bytes);
      binary(value);
    } else throw new TypeError(`a row's member ${name} is of a kind that rows have not`);
  }

  function member(name: string, value: unknown): void {
    switch (typeof value) {
      case 'string':
        head(name, KIND.text);
        text(value);
        return;
      case 'number':
        number(name, value);
        return;
      case 'bigint':
        head(name, KIND.long);
        view.setBigInt64(at, value, true);
        at += 8;
        return;
      case 'boolean':
        head(name, KIND.boolean);
        bytes[at++] = value ? 1 : 0;
        return;
      case 'undefined':
        return;
      default:
        object(name, value);
    }
  }

  return {
    add(row) {
      const begin = at;
      reserve(0);
      at += 4;
      for (const name in row) member(name, (row as Readonly<Record<string, unknown>>)[name]);
      end(begin);
    },
    written: () => bytes.subarray(0, at),
    clear() {
      at = 0;
    },
  };
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
