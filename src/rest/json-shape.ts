// How messages look as JSON, read off their descriptors once per message type:
// snake_case members, unions as bare values, unknown members in `extra`.
import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { hasOption, ScalarType } from '@bufbuild/protobuf';
import { field as rules } from '../../gen/buf/validate/validate_pb.ts';
import {
  camel_case,
  cleared,
  extra,
  type Unset,
  union,
  unset,
} from '../../gen/gateway/options/v2/options_pb.ts';
import { optionOf } from '../lib/contract-options.ts';

/** What a value may be, before it is put into a message. */
export type ValueShape =
  | { readonly kind: 'scalar'; readonly type: ScalarType }
  | {
      readonly kind: 'enum';
      readonly words: ReadonlyMap<string, number>;
      readonly names: ReadonlyMap<number, string>;
    }
  | { readonly kind: 'struct' }
  | { readonly kind: 'message'; readonly desc: DescMessage };

/** One member of a JSON object. */
export interface FieldShape {
  /** The JSON member's name. */
  readonly name: string;
  /** The message's property. */
  readonly local: string;
  readonly many: 'one' | 'list' | 'map';
  readonly value: ValueShape;
  /** The property of the oneof group that the field belongs to. */
  readonly group: string | undefined;
  readonly unset: Unset;
  /** A whole number that is 0 or 1: JSON's true and false are taken for it. */
  readonly flag: boolean;
}

/** A message as JSON. */
export type MessageShape =
  | {
      readonly kind: 'object';
      readonly desc: DescMessage;
      readonly fields: readonly FieldShape[];
      readonly byName: ReadonlyMap<string, FieldShape>;
      /** The property that keeps unknown members; undefined where they are refused. */
      readonly extra: string | undefined;
      /** The property that names the members to clear; undefined where null means unset. */
      readonly cleared: string | undefined;
    }
  | {
      /** A message of one map field `values`: written as the bare object. */
      readonly kind: 'map';
      readonly desc: DescMessage;
      readonly field: FieldShape;
    }
  | {
      readonly kind: 'union';
      readonly desc: DescMessage;
      readonly group: string;
      readonly variants: readonly Variant[];
    };

/** One of a union's values. */
export interface Variant {
  readonly local: string;
  readonly value: ValueShape;
  /** A message of one repeated field `values` is written as the bare array. */
  readonly list: FieldShape | undefined;
}

const shapes = new WeakMap<DescMessage, MessageShape>();

/** The JSON shape of a message type. */
export function shapeOf(desc: DescMessage): MessageShape {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    shape = readShape(desc);
    shapes.set(desc, shape);
  }
  return shape;
}

/** The list that a wrapper message (one repeated field `values`) stands for. */
export function bareListOf(desc: DescMessage): FieldShape | undefined {
  const field = desc.fields[0];
  if (desc.fields.length !== 1 || field?.fieldKind !== 'list' || field.name !== 'values') return undefined;
  return fieldShape(field);
}

function readShape(desc: DescMessage): MessageShape {
  const group = desc.oneofs.find((oneof) => optionOf(oneof, union));
  if (group) return unionShape(desc, group);
  const [only] = desc.fields;
  if (desc.fields.length === 1 && only?.fieldKind === 'map' && only.name === 'values')
    return { kind: 'map', desc, field: fieldShape(only) };
  const extraField = desc.fields.find((field) => optionOf(field, extra));
  const clearedField = desc.fields.find((field) => optionOf(field, cleared));
  const fields = desc.fields
    .filter((field) => field !== extraField && field !== clearedField)
    .map(fieldShape);
  return {
    kind: 'object',
    desc,
    fields,
    byName: namesOf(desc, fields),
    extra: extraField?.localName,
    cleared: clearedField?.localName,
  };
}

/** Fields by the members that are read as theirs: in camelCase messages by the names of the protos too. */
function namesOf(desc: DescMessage, fields: readonly FieldShape[]): ReadonlyMap<string, FieldShape> {
  const names = new Map(fields.map((field) => [field.name, field]));
  if (!optionOf(desc, camel_case)) return names;
  for (const { name, localName } of desc.fields) {
    const field = fields.find(({ local }) => local === localName);
    if (field !== undefined) names.set(name, field);
  }
  return names;
}

function unionShape(desc: DescMessage, group: DescOneof): MessageShape {
  if (desc.fields.length !== group.fields.length)
    throw new Error(`${desc.typeName}: a union has no other fields`);
  const variants = group.fields.map((field): Variant => {
    const shape = fieldShape(field);
    const list = shape.value.kind === 'message' ? bareListOf(shape.value.desc) : undefined;
    return { local: field.localName, value: shape.value, list };
  });
  return { kind: 'union', desc, group: group.localName, variants };
}

function fieldShape(field: DescField): FieldShape {
  return {
    name: memberName(field),
    local: field.localName,
    many: field.fieldKind === 'list' ? 'list' : field.fieldKind === 'map' ? 'map' : 'one',
    value: valueShape(field),
    group: field.oneof?.localName,
    unset: optionOf(field, unset),
    flag: isFlag(field),
  };
}

/** By the limits of the field. */
function isFlag(field: DescField): boolean {
  if (field.fieldKind !== 'scalar' || field.scalar !== ScalarType.INT32 || !hasOption(field, rules))
    return false;
  const { type } = optionOf(field, rules);
  if (type.case !== 'int32') return false;
  const { greaterThan, lessThan } = type.value;
  return (
    greaterThan.case === 'gte' && greaterThan.value === 0 && lessThan.case === 'lte' && lessThan.value === 1
  );
}

/** A json_name written by hand wins ("hate/threatening"); else the proto name is the member's name, or its camelCase. */
export function memberName(field: DescField): string {
  const isPlain = field.jsonName === camelCase(field.name);
  return isPlain && !optionOf(field.parent, camel_case) ? field.name : field.jsonName;
}

function valueShape(field: DescField): ValueShape {
  if (field.message) {
    if (field.message.typeName === 'google.protobuf.Struct') return { kind: 'struct' };
    return { kind: 'message', desc: field.message };
  }
  if (field.enum) {
    const prefix = field.enum.sharedPrefix ?? '';
    const words = field.enum.values.map((v): [string, number] => [
      v.name.toLowerCase().slice(prefix.length),
      v.number,
    ]);
    return {
      kind: 'enum',
      words: new Map(words),
      names: new Map(words.map(([word, number]) => [number, word])),
    };
  }
  return { kind: 'scalar', type: field.scalar ?? ScalarType.STRING };
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
