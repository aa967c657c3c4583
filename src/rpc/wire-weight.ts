// What is wrong with a message in Protobuf's binary format, told before it is decoded: bytes that are no message of its
// type, texts over the limit of their field, and messages that are too expensive to decode. 24 MiB of one text take some
// milliseconds, 24 MiB of empty submessages take seconds, in one turn of the event loop.
import { isUtf8 } from 'node:buffer';
import { type DescField, type DescMessage, hasOption, ScalarType } from '@bufbuild/protobuf';
import { type FieldRules, field as fieldOption } from '../../gen/buf/validate/validate_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import { fail, type GatewayError, validationFailed } from '../lib/errors.ts';
import { MOST_WEIGHT } from '../rest/json-weight.ts';

/** Costs in the unit of `MOST_WEIGHT`; the work of the call after decoding is included. */
const ITEM = 1;
const FIELD = 3;
const MESSAGE = 10;
const ENTRY = 10;
/** The decoder's own limit. */
const MOST_DEPTH = 100;
/** Bytes of a character in UTF-8 at the most. */
const CHARACTER_BYTES = 4;

const VARINT = -1;
const BYTES = -2;
/** Bytes of a fixed-width value, or one of the two above. */
type Width = number;

interface FieldShape {
  readonly name: string;
  /** Of a scalar or an enum. */
  readonly width: Width;
  readonly wireType: number;
  readonly isText: boolean;
  /** Longest text that its rule allows, in characters; undefined: any. */
  readonly mostChars: number | undefined;
  readonly packable: boolean;
  readonly message: DescMessage | undefined;
  /** Of a map's entry: its key and its value. */
  readonly entry: ReadonlyMap<number, FieldShape> | undefined;
  /** A second occurrence in one message is merged with the first. */
  readonly merges: boolean;
}

const shapes = new WeakMap<DescMessage, ReadonlyMap<number, FieldShape>>();

/**
 * Why a message is not decoded: malformed_body, validation_failed for a text that is far over its field's limit, or
 * body_too_large for one that weighs more than `MOST_WEIGHT`; the field is named. It reads as the decoder does, and stops
 * at that weight: about 5 ms at most.
 */
export function wireFault(desc: DescMessage, bytes: Uint8Array): GatewayError | undefined {
  try {
    new Scale(bytes).message(shapeOf(desc), bytes.length, 1);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.error();
    throw thrown;
  }
}

/** Thrown while a message is read; the fields around it are named on the way out. */
class Fault {
  readonly #path: string[] = [];
  readonly #errorOf: (path: string) => GatewayError;

  constructor(errorOf: (path: string) => GatewayError) {
    this.#errorOf = errorOf;
  }

  in(name: string): this {
    this.#path.unshift(name);
    return this;
  }

  error(): GatewayError {
    return this.#errorOf(this.#path.join('.'));
  }
}

const malformed = (what: string): Fault =>
  new Fault((path) =>
    fail(
      'malformed_body',
      `${path === '' ? 'the message' : path}: ${what}`,
      path === '' ? {} : { param: path },
    ),
  );
const truncated = (): Fault => malformed('the bytes end in the middle of the message; send it whole');
const tooLong = (most: number): Fault =>
  new Fault((field) =>
    validationFailed([{ field, rule: 'string.max_len', message: `must be at most ${most} characters` }]),
  );
const tooHeavy = (): Fault =>
  new Fault(() =>
    fail(
      'body_too_large',
      'the message has too many fields and items: it may have about 20,000 submessages or 400,000 numbers; send it in parts',
    ),
  );

class Scale {
  readonly #bytes: Uint8Array;
  #at = 0;
  #weight = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads fields up to `end`. */
  message(fields: ReadonlyMap<number, FieldShape>, end: number, depth: number): void {
    if (depth > MOST_DEPTH) throw malformed(`messages may be nested ${MOST_DEPTH} deep at the most`);
    if (end > this.#bytes.length) throw truncated();
    let merged: Set<number> | undefined;
    while (this.#at < end) {
      const tag = this.#varint();
      const number = tag >>> 3;
      const wireType = tag & 7;
      if (number === 0 || wireType > 5) throw malformed('the bytes are no message of Protobuf');
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
      try {
        this.#field(field, wireType, depth);
      } catch (thrown) {
        throw thrown instanceof Fault ? thrown.in(field.name) : thrown;
      }
    }
    if (this.#at > end) throw truncated();
  }

  #field(field: FieldShape, wireType: number, depth: number): void {
    const { entry, message, width, packable } = field;
    if (wireType !== field.wireType && !(packable && wireType === 2))
      throw malformed(`wire type ${wireType} is not that of the field; encode it by this gateway's schema`);
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
    } else if (field.isText) this.#text(field.mostChars);
    else this.#scalar(width);
  }

  #text(mostChars: number | undefined): void {
    const end = this.#end();
    if (mostChars !== undefined && end - this.#at > mostChars * CHARACTER_BYTES) throw tooLong(mostChars);
    if (end > this.#bytes.length) throw truncated();
    if (!isUtf8(this.#bytes.subarray(this.#at, end))) throw malformed('the text is not valid UTF-8');
    this.#at = end;
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
    } else throw malformed('the bytes are no message of Protobuf');
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
      if (byte === undefined) throw truncated();
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
    // The decoder skips longer ones in unknown fields; none is written by an encoder.
    throw malformed('a number has more than ten bytes');
  }

  #pass(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw truncated();
  }

  #add(weight: number): void {
    this.#weight += weight;
    if (this.#weight > MOST_WEIGHT) throw tooHeavy();
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
  const { message, fieldKind } = field;
  const rules = hasOption(field, fieldOption) ? optionOf(field, fieldOption) : undefined;
  const value = {
    ...scalarShape(field.name, field.scalar, rules),
    message,
    ...(message === undefined ? {} : { wireType: 2 }),
  };
  const packable = fieldKind === 'list' && message === undefined && value.width !== BYTES;
  if (fieldKind !== 'map') return { ...value, packable, merges: fieldKind === 'message' };
  return {
    ...value,
    wireType: 2,
    entry: new Map([
      [1, scalarShape('key', field.mapKey, undefined)],
      [2, { ...value, name: 'value', merges: message !== undefined }],
    ]),
  };
}

function scalarShape(
  name: string,
  scalar: ScalarType | undefined,
  rules: FieldRules | undefined,
): FieldShape {
  const width = widthOf(scalar);
  const isText = scalar === ScalarType.STRING;
  return {
    name,
    width,
    wireType: width === VARINT ? 0 : width === BYTES ? 2 : width === 8 ? 1 : 5,
    isText,
    mostChars: isText ? mostCharsOf(rules) : undefined,
    packable: false,
    message: undefined,
    entry: undefined,
    merges: false,
  };
}

/** The limit of a text, or of each text of a list or a map. */
function mostCharsOf(rules: FieldRules | undefined): number | undefined {
  const { type } = rules ?? {};
  if (type?.case === 'repeated') return mostCharsOf(type.value.items);
  if (type?.case === 'map') return mostCharsOf(type.value.values);
  const most = type?.case === 'string' ? type.value.maxLen : undefined;
  return most === undefined ? undefined : Number(most);
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
