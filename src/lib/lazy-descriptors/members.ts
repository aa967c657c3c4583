// The fields and oneofs of a message, as proto3 has them: no groups, no defaults, no features of editions.
import type { DescEnum, DescField, DescMessage, DescOneof, ScalarType } from '@bufbuild/protobuf';
import { protoCamelCase, safeObjectProperty } from '@bufbuild/protobuf/reflect';
import {
  FeatureSet_FieldPresence,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldOptions_JSType,
  type OneofDescriptorProto,
} from '@bufbuild/protobuf/wkt';

/** Finds a type by its full name. */
type TypeOf = (name: string) => DescMessage | DescEnum;

export interface Members {
  readonly fields: DescField[];
  readonly field: Record<string, DescField>;
  readonly oneofs: DescOneof[];
  readonly members: (DescField | DescOneof)[];
}

const { EXPLICIT, IMPLICIT } = FeatureSet_FieldPresence;
const { REPEATED } = FieldDescriptorProto_Label;
const { MESSAGE, ENUM, STRING, BYTES } = FieldDescriptorProto_Type;

/** In the order in which they are declared; a oneof is where its first field is. */
export function membersOf(message: DescMessage, typeOf: TypeOf): Members {
  const { proto } = message;
  const groups = proto.oneofDecl.map((one) => oneofOf(one, message));
  const found: Members = { fields: [], field: {}, oneofs: [], members: [] };
  for (const one of proto.field) {
    // What an optional field of its own has for a oneof is none.
    const isIn = Object.hasOwn(one, 'oneofIndex') && !one.proto3Optional;
    const oneof = isIn ? groups[one.oneofIndex] : undefined;
    const field = fieldOf(one, message, oneof, typeOf);
    found.fields.push(field);
    found.field[field.localName] = field;
    if (oneof === undefined) found.members.push(field);
    else {
      if (oneof.fields.length === 0) found.members.push(oneof);
      oneof.fields.push(field);
    }
  }
  found.oneofs.push(...groups.filter(({ fields }) => fields.length > 0));
  return found;
}

function oneofOf(proto: OneofDescriptorProto, parent: DescMessage): DescOneof {
  return {
    kind: 'oneof',
    proto,
    deprecated: false,
    parent,
    fields: [],
    name: proto.name,
    localName: safeObjectProperty(protoCamelCase(proto.name)),
    toString: () => `oneof ${parent.typeName}.${proto.name}`,
  };
}

function fieldOf(
  proto: FieldDescriptorProto,
  parent: DescMessage,
  oneof: DescOneof | undefined,
  typeOf: TypeOf,
): DescField {
  const { name, number, label, type, options, jsonName } = proto;
  const camel = protoCamelCase(name);
  const isRepeated = label === REPEATED;
  const isExplicit = !isRepeated && (oneof !== undefined || proto.proto3Optional || type === MESSAGE);
  const of = type === MESSAGE || type === ENUM ? typeOf(proto.typeName.slice(1)) : undefined;
  const field = {
    kind: 'field',
    proto,
    deprecated: options?.deprecated ?? false,
    name,
    number,
    presence: isExplicit ? EXPLICIT : IMPLICIT,
    utf8Validation: true,
    scalar: undefined,
    message: undefined,
    enum: undefined,
    listKind: undefined,
    mapKind: undefined,
    mapKey: undefined,
    delimitedEncoding: undefined,
    packed: undefined,
    longAsString: false,
    getDefaultValue: undefined,
    parent,
    oneof,
    localName: oneof === undefined ? safeObjectProperty(camel) : camel,
    jsonName,
    toString: () => `field ${parent.typeName}.${name}`,
    ...(isRepeated ? repeated(proto, of) : singular(proto, of)),
  };
  // Its kind and what goes with it are told together: the compiler cannot see it.
  return field as unknown as DescField;
}

function singular({ type, options }: FieldDescriptorProto, of: DescMessage | DescEnum | undefined): object {
  const getDefaultValue = (): undefined => undefined;
  if (of?.kind === 'message')
    return { fieldKind: 'message', message: of, delimitedEncoding: false, getDefaultValue };
  if (of?.kind === 'enum') return { fieldKind: 'enum', enum: of, getDefaultValue };
  return { fieldKind: 'scalar', scalar: scalarOf(type), longAsString: isText(options), getDefaultValue };
}

function repeated({ type, options }: FieldDescriptorProto, of: DescMessage | DescEnum | undefined): object {
  if (of?.kind === 'message' && of.proto.options?.mapEntry === true) {
    const [key, value] = [of.field.key, of.field.value];
    const { fieldKind: mapKind, message, scalar, enum: values } = value ?? {};
    return {
      fieldKind: 'map',
      mapKey: key?.scalar,
      mapKind,
      delimitedEncoding: false,
      message,
      scalar,
      enum: values,
    };
  }
  const packed = type !== MESSAGE && type !== STRING && type !== BYTES && isPacked(options);
  if (of?.kind === 'message')
    return { fieldKind: 'list', listKind: 'message', message: of, delimitedEncoding: false, packed };
  if (of?.kind === 'enum') return { fieldKind: 'list', listKind: 'enum', enum: of, packed };
  return {
    fieldKind: 'list',
    listKind: 'scalar',
    scalar: scalarOf(type),
    longAsString: isText(options),
    packed,
  };
}

/** The numbers of both are the same. */
function scalarOf(type: FieldDescriptorProto_Type): ScalarType {
  return type as number as ScalarType;
}

function isText(options: FieldDescriptorProto['options']): boolean {
  return options?.jstype === FieldOptions_JSType.JS_STRING;
}

function isPacked(options: FieldDescriptorProto['options']): boolean {
  return options !== undefined && Object.hasOwn(options, 'packed') ? options.packed : true;
}
