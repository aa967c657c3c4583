// JSON -> message. Strict for requests: every value of the wrong type is a
// violation with its path. Lenient for providers' answers: such a value is kept in
// `extra` under its own name, so that nothing a provider says is lost.

import { create, type DescMessage, type JsonObject, type Message, ScalarType } from '@bufbuild/protobuf';
import { Unset } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, type Violation, validationFailed } from '../lib/errors.ts';
import { theNearest } from '../lib/nearest-names.ts';
import { type FieldShape, type MessageShape, shapeOf, type ValueShape, type Variant } from './json-shape.ts';

/** Values nested deeper than this inside free-form members are refused: they would exhaust the stack elsewhere. */
export const MAX_DEPTH = 64;

/** Most violations that are reported of one request: a list of half a million faults is of no use. */
const MOST_VIOLATIONS = 100;
/** Comparing words takes time: only the first unknown members name others. */
const MOST_NEAREST = 5;
const MORE = 'more is wrong than is told here';

const INVALID: unique symbol = Symbol('invalid');
type Bag = Record<string, unknown>;

class Decoding {
  readonly violations: Violation[] = [];
  readonly path: (string | number)[] = [];
  readonly lenient: boolean;

  constructor(lenient: boolean) {
    this.lenient = lenient;
  }

  /** Notes a violation at the current path. @throws GatewayError validation_failed at the last that is told */
  wrong(rule: string, message: string): typeof INVALID {
    if (this.lenient) return INVALID;
    this.violations.push({ field: pathText(this.path), rule, message });
    if (this.violations.length < MOST_VIOLATIONS) return INVALID;
    throw validationFailed([...this.violations, { field: '', rule: 'more', message: MORE }]);
  }
}

/** Reads a request. @throws GatewayError validation_failed with every violation. */
export function decodeStrict(desc: DescMessage, json: unknown): Message {
  const decoding = new Decoding(false);
  const message = readMessage(decoding, desc, json);
  if (decoding.violations.length > 0) throw validationFailed(decoding.violations);
  if (message === INVALID)
    throw validationFailed([{ field: '', rule: 'type', message: 'must be an object' }]);
  return message as Message;
}

/** Reads a provider's answer. @throws GatewayError upstream_garbage when it is not an object or too deep. */
export function decodeLenient(desc: DescMessage, json: unknown): Message {
  const message = readMessage(new Decoding(true), desc, json);
  if (message === INVALID) throw fail('upstream_garbage', 'the provider answered with JSON of another shape');
  return message as Message;
}

function readMessage(d: Decoding, desc: DescMessage, json: unknown): Message | typeof INVALID {
  const shape = shapeOf(desc);
  if (shape.kind === 'union') return readUnion(d, shape, json);
  if (shape.kind === 'map') {
    const values = readMap(d, shape.field.value, json);
    if (values === INVALID) return INVALID;
    const message = create(desc);
    (message as unknown as Bag)[shape.field.local] = values;
    return message;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return d.wrong('type', 'must be an object');
  if (d.path.length > MAX_DEPTH) return tooDeep(d);
  const message = create(desc);
  const bag = message as unknown as Bag;
  let unknown: JsonObject | undefined;
  let sound = true;
  for (const name of Object.keys(json)) {
    const value = (json as Bag)[name];
    const field = shape.byName.get(name);
    if (field !== undefined) {
      if (value === null) {
        if (shape.cleared !== undefined) {
          (bag[shape.cleared] as string[]).push(name);
          continue;
        }
        // Null means unset; where JSON would not show that again, the null is remembered.
        if (field.unset === Unset.NULL) continue;
      } else {
        d.path.push(name);
        const read = readField(d, field, value);
        d.path.pop();
        if (read !== INVALID) {
          if (shape.cleared !== undefined && isEmptyCollection(field, read))
            (bag[shape.cleared] as string[]).push(name);
          else if (isEmptyCollection(field, read) && field.unset !== Unset.DEFAULT)
            unknown = keep(unknown, name, value);
          else if (field.group === undefined) bag[field.local] = read;
          else bag[field.group] = { case: field.local, value: read };
          continue;
        }
        if (!d.lenient) {
          sound = false;
          continue;
        }
      }
    } else if (shape.extra === undefined && !d.lenient) {
      d.path.push(name);
      const near = d.violations.length < MOST_NEAREST ? theNearest(name, shape.byName.keys()) : '';
      d.wrong('unknown', `is not a member of this object${near}`);
      d.path.pop();
      sound = false;
      continue;
    }
    if (!shallow(value, MAX_DEPTH)) {
      d.path.push(name);
      tooDeep(d);
      d.path.pop();
      sound = false;
      continue;
    }
    unknown = keep(unknown, name, value);
  }
  if (unknown !== undefined && shape.extra !== undefined) bag[shape.extra] = unknown;
  return sound ? message : INVALID;
}

/** An empty list or map would not show again: it is remembered among the unknown members. */
function isEmptyCollection(field: FieldShape, read: unknown): boolean {
  if (field.many === 'list') return (read as unknown[]).length === 0;
  return field.many === 'map' && Object.keys(read as Bag).length === 0;
}

function keep(unknown: JsonObject | undefined, name: string, value: unknown): JsonObject {
  const kept = unknown ?? {};
  // Defined, not assigned: a member named __proto__ must stay a member.
  if (name === '__proto__')
    Object.defineProperty(kept, name, { value, enumerable: true, configurable: true, writable: true });
  else kept[name] = value as JsonObject[string];
  return kept;
}

function readField(d: Decoding, field: FieldShape, json: unknown): unknown {
  if (field.many === 'one') {
    if (field.flag && typeof json === 'boolean' && !d.lenient) return Number(json);
    return readValue(d, field.value, json);
  }
  if (field.many === 'list') return readList(d, field.value, json);
  return readMap(d, field.value, json);
}

function readList(d: Decoding, shape: ValueShape, json: unknown): unknown {
  if (!Array.isArray(json)) return d.wrong('type', 'must be an array');
  const out = new Array<unknown>(json.length);
  let sound = true;
  for (let i = 0; i < json.length; i++) {
    d.path.push(i);
    const read = json[i] === null ? d.wrong('type', 'must not be null') : readValue(d, shape, json[i]);
    d.path.pop();
    if (read === INVALID) {
      sound = false;
      if (d.lenient) break;
    }
    out[i] = read;
  }
  return sound ? out : INVALID;
}

function readMap(d: Decoding, shape: ValueShape, json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return d.wrong('type', 'must be an object');
  const out: Bag = {};
  let sound = true;
  for (const key of Object.keys(json)) {
    d.path.push(key);
    const read = readValue(d, shape, (json as Bag)[key]);
    d.path.pop();
    if (read === INVALID) sound = false;
    else
      Object.defineProperty(out, key, { value: read, enumerable: true, configurable: true, writable: true });
  }
  return sound ? out : INVALID;
}

function readValue(d: Decoding, shape: ValueShape, json: unknown): unknown {
  switch (shape.kind) {
    case 'message':
      return readMessage(d, shape.desc, json);
    case 'struct':
      if (typeof json !== 'object' || json === null || Array.isArray(json))
        return d.wrong('type', 'must be an object');
      return shallow(json, MAX_DEPTH) ? json : tooDeep(d);
    case 'enum': {
      const number = typeof json === 'string' ? shape.words.get(json) : undefined;
      if (number !== undefined && number !== 0) return number;
      return d.wrong('enum', `must be one of ${[...shape.words.keys()].slice(1).join(', ')}`);
    }
    case 'scalar':
      return readScalar(d, shape.type, json);
  }
}

function readScalar(d: Decoding, type: ScalarType, json: unknown): unknown {
  switch (type) {
    case ScalarType.STRING:
      if (typeof json !== 'string') return d.wrong('type', 'must be a string');
      return json;
    case ScalarType.BOOL:
      return typeof json === 'boolean' ? json : d.wrong('type', 'must be true or false');
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return typeof json === 'number' && Number.isFinite(json) ? json : d.wrong('type', 'must be a number');
    case ScalarType.INT64:
    case ScalarType.UINT64:
      if (!Number.isSafeInteger(json)) return d.wrong('type', 'must be a whole number');
      if (type === ScalarType.UINT64 && (json as number) < 0) return d.wrong('type', 'must not be negative');
      return BigInt(json as number);
    case ScalarType.BYTES:
      if (typeof json !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(json))
        return d.wrong('type', 'must be base64');
      return new Uint8Array(Buffer.from(json, 'base64'));
    default: {
      const low = type === ScalarType.UINT32 ? 0 : -2147483648;
      const high = type === ScalarType.UINT32 ? 4294967295 : 2147483647;
      if (Number.isInteger(json) && (json as number) >= low && (json as number) <= high) return json;
      return d.wrong('type', 'must be a whole number');
    }
  }
}

function readUnion(
  d: Decoding,
  shape: MessageShape & { kind: 'union' },
  json: unknown,
): Message | typeof INVALID {
  const variant = shape.variants.find((candidate) => fits(candidate, json));
  if (variant === undefined) return d.wrong('type', `must be ${shape.variants.map(describe).join(', or ')}`);
  const value = variant.list ? readWrapped(d, variant, json) : readValue(d, variant.value, json);
  if (value === INVALID) return INVALID;
  const message = create(shape.desc);
  (message as unknown as Bag)[shape.group] = { case: variant.local, value };
  return message;
}

function readWrapped(d: Decoding, variant: Variant, json: unknown): unknown {
  const { value, list } = variant;
  if (value.kind !== 'message' || list === undefined) return INVALID;
  const inner = list.value.kind === 'message' ? listVariant(list.value.desc) : undefined;
  const values = inner ? readNested(d, inner, json as unknown[]) : readList(d, list.value, json);
  if (values === INVALID) return INVALID;
  const wrapper = create(value.desc);
  (wrapper as unknown as Bag)[list.local] = values;
  return wrapper;
}

function readNested(d: Decoding, inner: Variant, json: readonly unknown[]): unknown {
  const out: unknown[] = [];
  for (const [i, element] of json.entries()) {
    d.path.push(i);
    const read = Array.isArray(element)
      ? readWrapped(d, inner, element)
      : d.wrong('type', 'must be an array');
    d.path.pop();
    out.push(read);
  }
  return out.includes(INVALID) ? INVALID : out;
}

/** The variant that a wrapper message stands for inside another list. */
function listVariant(desc: DescMessage): Variant | undefined {
  const shape = shapeOf(desc);
  const list = shape.kind === 'object' && shape.fields.length === 1 ? shape.fields[0] : undefined;
  if (list?.many !== 'list' || list.name !== 'values') return undefined;
  return { local: '', value: { kind: 'message', desc }, list };
}

/** Whether a JSON value can only be meant as this variant: told by its type, for arrays by that of the first element. */
function fits(variant: Variant, json: unknown): boolean {
  if (variant.list === undefined)
    return typeof json === jsonTypeOf(variant.value) && !Array.isArray(json) && json !== null;
  if (!Array.isArray(json)) return false;
  if (json.length === 0) return true;
  const element = variant.list.value;
  const nested = element.kind === 'message' && listVariant(element.desc) !== undefined;
  if (Array.isArray(json[0])) return nested;
  return !nested && typeof json[0] === jsonTypeOf(element) && json[0] !== null;
}

function jsonTypeOf(shape: ValueShape): string {
  if (shape.kind === 'message' || shape.kind === 'struct') return 'object';
  if (shape.kind === 'enum' || shape.type === ScalarType.STRING || shape.type === ScalarType.BYTES)
    return 'string';
  return shape.type === ScalarType.BOOL ? 'boolean' : 'number';
}

function describe(variant: Variant): string {
  if (variant.list === undefined)
    return variant.value.kind === 'message' ? 'an object' : `a ${jsonTypeOf(variant.value)}`;
  const element = variant.list.value;
  if (element.kind === 'message' && listVariant(element.desc)) return 'an array of arrays';
  return `an array of ${jsonTypeOf(element)}s`;
}

function tooDeep(d: Decoding): typeof INVALID {
  if (d.lenient)
    throw fail('upstream_garbage', `the provider answered with JSON nested deeper than ${MAX_DEPTH} levels`);
  return d.wrong('depth', `must not be nested deeper than ${MAX_DEPTH} levels`);
}

/** Whether no value lies deeper than `depth` levels. */
function shallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) {
    for (const element of value) if (!shallow(element, depth - 1)) return false;
    return true;
  }
  for (const name in value) if (!shallow((value as Bag)[name], depth - 1)) return false;
  return true;
}

function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}
