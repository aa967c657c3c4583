// Message -> JSON value: snake_case members, numbers as numbers, enum words in lower
// case, unions as bare values, and the unknown members next to the named ones.
import { type DescMessage, type JsonObject, type Message, ScalarType } from '@bufbuild/protobuf';
import { Unset } from '../../gen/gateway/options/v2/options_pb.ts';
import { bareListOf, type FieldShape, type MessageShape, shapeOf, type ValueShape } from './json-shape.ts';

type Bag = Record<string, unknown>;
type Write = (value: unknown) => unknown;
const writers = new WeakMap<DescMessage, Write>();

/** The message as a plain JSON value, ready for JSON.stringify. */
export function encode(desc: DescMessage, message: Message): unknown {
  return writerOf(desc)(message);
}

function writerOf(desc: DescMessage): Write {
  let write = writers.get(desc);
  if (write === undefined) {
    // Registered before it is built: messages may contain themselves.
    let built: Write | undefined;
    write = (value) => {
      if (built === undefined) built = compile(shapeOf(desc));
      return built(value);
    };
    writers.set(desc, write);
  }
  return write;
}

function compile(shape: MessageShape): Write {
  if (shape.kind === 'union') return compileUnion(shape);
  if (shape.kind === 'object') return compileObject(shape);
  const { local } = shape.field;
  const write = fieldWriter(shape.field);
  return (message) => write((message as Bag)[local]);
}

function compileObject(shape: MessageShape & { kind: 'object' }): Write {
  const fields = shape.fields.map((field) => ({
    ...field,
    write: fieldWriter(field),
    empty: emptyOf(field),
  }));
  const { extra } = shape;
  return (message) => {
    const bag = message as Bag;
    const out: Bag = {};
    for (const field of fields) {
      const value = field.group === undefined ? bag[field.local] : memberOf(bag[field.group], field.local);
      if (value === undefined || isEmpty(field, value)) {
        if (field.unset === Unset.NULL) out[field.name] = null;
        else if (field.unset === Unset.DEFAULT) out[field.name] = field.empty();
      } else {
        out[field.name] = field.write(value);
      }
    }
    if (extra !== undefined) giveBack(out, bag[extra] as JsonObject | undefined);
    return out;
  };
}

function giveBack(out: Bag, unknown: JsonObject | undefined): void {
  if (unknown === undefined) return;
  for (const name of Object.keys(unknown)) {
    // A member that is in both was of another type than its field, or null: the field shows its zero.
    if (Object.hasOwn(out, name) && !isZero(out[name])) continue;
    const value = unknown[name];
    if (name === '__proto__')
      Object.defineProperty(out, name, { value, enumerable: true, configurable: true, writable: true });
    else out[name] = value;
  }
}

function isZero(value: unknown): boolean {
  return !value || (Array.isArray(value) && value.length === 0);
}

function compileUnion(shape: MessageShape & { kind: 'union' }): Write {
  const byCase = new Map(
    shape.variants.map((variant): [string, Write] => [
      variant.local,
      variant.list && variant.value.kind === 'message'
        ? wrappedWriter(variant.value.desc)
        : valueWriter(variant.value),
    ]),
  );
  return (message) => {
    const group = (message as Bag)[shape.group] as { case?: string; value?: unknown };
    return group.case === undefined ? null : byCase.get(group.case)?.(group.value);
  };
}

/** Writes a message of one repeated field `values` as the bare array. */
function wrappedWriter(desc: DescMessage): Write {
  const list = bareListOf(desc);
  if (list === undefined) return writerOf(desc);
  const inner =
    list.value.kind === 'message' ? bareListOf(list.value.desc) && wrappedWriter(list.value.desc) : undefined;
  const write = inner ?? valueWriter(list.value);
  const verbatim = list.value.kind === 'scalar' && isVerbatim(list.value.type);
  return (wrapper) => {
    const values = (wrapper as Bag)[list.local] as unknown[];
    return verbatim ? values : values.map(write);
  };
}

function fieldWriter(field: FieldShape): Write {
  const write = valueWriter(field.value);
  if (field.many === 'one') return write;
  if (field.many === 'list') return (values) => (values as unknown[]).map(write);
  return (map) => {
    const out: Bag = {};
    for (const key of Object.keys(map as Bag)) {
      Object.defineProperty(out, key, {
        value: write((map as Bag)[key]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return out;
  };
}

function valueWriter(shape: ValueShape): Write {
  switch (shape.kind) {
    case 'message':
      return writerOf(shape.desc);
    case 'struct':
      return same;
    case 'enum':
      return (value) => shape.names.get(value as number) ?? null;
    case 'scalar':
      if (shape.type === ScalarType.BYTES)
        return (value) => Buffer.from(value as Uint8Array).toString('base64');
      // NaN and infinities (possible over gRPC) have no JSON form.
      if (isVerbatim(shape.type))
        return (value) => (typeof value === 'number' && !Number.isFinite(value) ? null : value);
      return Number;
  }
}

const same: Write = (value) => value;

/** Scalars whose JSON value is the property's value; the others are bigint or bytes. */
function isVerbatim(type: ScalarType): boolean {
  return ![
    ScalarType.INT64,
    ScalarType.UINT64,
    ScalarType.SINT64,
    ScalarType.FIXED64,
    ScalarType.SFIXED64,
    ScalarType.BYTES,
  ].includes(type);
}

/** Lists and maps without elements, and enums that are not set. */
function isEmpty(field: FieldShape, value: unknown): boolean {
  if (field.many === 'one') return field.value.kind === 'enum' && value === 0;
  return field.many === 'list' ? (value as unknown[]).length === 0 : Object.keys(value as Bag).length === 0;
}

function memberOf(group: unknown, local: string): unknown {
  const member = group as { case?: string; value?: unknown };
  return member.case === local ? member.value : undefined;
}

function emptyOf(field: FieldShape): () => unknown {
  if (field.many === 'list') return () => [];
  if (field.many === 'map' || field.value.kind === 'message' || field.value.kind === 'struct')
    return () => ({});
  if (field.value.kind === 'scalar' && field.value.type === ScalarType.BOOL) return () => false;
  if (field.value.kind === 'scalar' && field.value.type !== ScalarType.STRING) return () => 0;
  return () => '';
}
