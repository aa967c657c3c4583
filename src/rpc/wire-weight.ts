// How expensive a message in Protobuf's binary format is to decode, told before it is decoded: 24 MiB of one text take some
// milliseconds, 24 MiB of empty submessages take seconds, in one turn of the event loop.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { MOST_WEIGHT } from '../rest/json-weight.ts';

/** Costs in the unit of `MOST_WEIGHT`; the work of the call after decoding is included. */
const ITEM = 1;
const FIELD = 3;
const MESSAGE = 10;
const ENTRY = 10;
/** Shorter messages cannot weigh too much for one turn. Merging makes the work grow with the square of the length. */
const LIGHT_BYTES = 2048;
/** The decoder's own limit: deeper messages are refused by it. */
const MOST_DEPTH = 100;

const VARINT = -1;
const BYTES = -2;
/** Bytes of a fixed-width value, or one of the two above. */
type Width = number;

interface FieldShape {
  /** Of a scalar or an enum. */
  readonly width: Width;
  readonly packable: boolean;
  readonly message: DescMessage | undefined;
  /** Of a map's entry: its key and its value. */
  readonly entry: ReadonlyMap<number, FieldShape> | undefined;
  /** A second occurrence in one message is merged with the first. */
  readonly merges: boolean;
}

const shapes = new WeakMap<DescMessage, ReadonlyMap<number, FieldShape>>();

/** Whether a message weighs more than `MOST_WEIGHT`. It reads as the decoder does, and stops at that weight: about 5 ms at most. */
export function isTooHeavyOnWire(desc: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length <= LIGHT_BYTES) return false;
  const scale = new Scale(bytes);
  try {
    scale.message(shapeOf(desc), bytes.length, 1);
  } catch (thrown) {
    if (thrown === TOO_HEAVY) return true;
    // The decoder fails at the same byte.
    if (thrown !== MALFORMED) throw thrown;
  }
  return false;
}

const TOO_HEAVY: unique symbol = Symbol('too heavy');
const MALFORMED: unique symbol = Symbol('malformed');

class Scale {
  readonly #bytes: Uint8Array;
  #at = 0;
  #weight = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads fields up to `end`. */
  message(fields: ReadonlyMap<number, FieldShape>, end: number, depth: number): void {
    if (depth > MOST_DEPTH) throw MALFORMED;
    let merged: Set<number> | undefined;
    while (this.#at < end) {
      const tag = this.#varint();
      const number = tag >>> 3;
      const wireType = tag & 7;
      if (number === 0 || wireType > 5) throw MALFORMED;
      this.#add(FIELD);
      const field = fields.get(number);
      if (field === undefined) {
        this.#add(ENTRY);
        this.#skip(wireType, MOST_DEPTH - depth);
        continue;
      }
      if (field.merges) {
        merged ??= new Set();
        // What is merged may be converted again as a whole.
        if (merged.has(number)) this.#add(this.#weight);
        merged.add(number);
      }
      this.#field(field, wireType, depth);
    }
  }

  #field({ entry, message, width, packable }: FieldShape, wireType: number, depth: number): void {
    if (entry !== undefined) {
      this.#add(ENTRY);
      this.message(entry, this.#end(), depth);
    } else if (message !== undefined) {
      this.#add(MESSAGE);
      this.message(shapeOf(message), this.#end(), depth + 1);
    } else if (packable && wireType === 2) {
      for (const end = this.#end(); this.#at < end; ) {
        this.#add(ITEM);
        this.#scalar(width);
      }
    } else this.#scalar(width);
  }

  #scalar(width: Width): void {
    if (width === VARINT) this.#varint();
    else this.#pass(width === BYTES ? this.#varint() : width);
  }

  #skip(wireType: number, depth: number): void {
    if (wireType === 0) this.#varint();
    else if (wireType === 1) this.#pass(8);
    else if (wireType === 2) this.#pass(this.#varint());
    else if (wireType === 5) this.#pass(4);
    else if (wireType === 3 && depth > 0) {
      for (let tag = this.#varint(); (tag & 7) !== 4; tag = this.#varint()) {
        this.#add(FIELD);
        this.#skip(tag & 7, depth - 1);
      }
    } else throw MALFORMED;
  }

  /** Where the field ends whose length comes next. */
  #end(): number {
    const length = this.#varint();
    return this.#at + length;
  }

  /** The lowest 32 bits. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw MALFORMED;
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
    // The decoder skips longer ones in unknown fields; none is written by an encoder.
    throw TOO_HEAVY;
  }

  #pass(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw MALFORMED;
  }

  #add(weight: number): void {
    this.#weight += weight;
    if (this.#weight > MOST_WEIGHT) throw TOO_HEAVY;
  }
}

function shapeOf(desc: DescMessage): ReadonlyMap<number, FieldShape> {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    shape = new Map(desc.fields.map((field) => [field.number, fieldShape(field)]));
    shapes.set(desc, shape);
  }
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  const { message, fieldKind, scalar } = field;
  const width = widthOf(scalar);
  const packable = fieldKind === 'list' && message === undefined && width !== BYTES;
  const shape = { width, packable, message, entry: undefined, merges: false };
  if (fieldKind !== 'map') return { ...shape, merges: fieldKind === 'message' };
  const key = { ...shape, message: undefined, width: widthOf(field.mapKey) };
  return {
    ...shape,
    entry: new Map([
      [1, key],
      [2, { ...shape, merges: message !== undefined }],
    ]),
  };
}

/** Enums are varints. */
function widthOf(scalar: ScalarType | undefined): Width {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return BYTES;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return 8;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return 4;
    default:
      return VARINT;
  }
}
