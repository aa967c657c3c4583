// An enum's descriptor: its values are built when they are first read.
import { type DescEnum, type DescEnumValue, type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { safeObjectProperty } from '@bufbuild/protobuf/reflect';
import {
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  type EnumValueDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { LazyPart } from './lazy-part.ts';
import type { Slice } from './slice.ts';

/** Member of google.protobuf.EnumDescriptorProto; it is the first. */
const NAME = 1;

interface Values {
  readonly values: DescEnumValue[];
  readonly value: Record<number, DescEnumValue>;
  readonly sharedPrefix: string | undefined;
}

export class LazyEnum extends LazyPart<EnumDescriptorProto> implements DescEnum {
  override readonly kind = 'enum';
  readonly open = true;
  #values: Values | undefined;

  get values(): DescEnumValue[] {
    return (this.#values ?? this.#read()).values;
  }

  get value(): Record<number, DescEnumValue> {
    return (this.#values ?? this.#read()).value;
  }

  get sharedPrefix(): string | undefined {
    return (this.#values ?? this.#read()).sharedPrefix;
  }

  /** Told by its file where it is, and what the name is in. */
  place(
    bytes: Uint8Array,
    at: Slice,
    prefix: string,
    parent: DescMessage | undefined,
    types: Map<string, DescMessage | DescEnum>,
  ): void {
    const reader = this.locate(bytes, at, parent);
    const [member] = reader.tag();
    if (member !== NAME) throw new Error('the name of an enum comes first');
    types.set(this.call(reader.string(), prefix), this);
  }

  protected override decode(bytes: Uint8Array): EnumDescriptorProto {
    return fromBinary(EnumDescriptorProtoSchema, bytes);
  }

  #read(): Values {
    const { name, value: protos } = this.proto;
    const sharedPrefix = sharedPrefixOf(name, protos);
    const values = protos.map((proto) => enumValue(proto, this, sharedPrefix));
    const value: Record<number, DescEnumValue> = {};
    // Of several names of one number the first counts.
    for (const one of values) value[one.number] ??= one;
    this.#values = { values, value, sharedPrefix };
    return this.#values;
  }
}

function enumValue(
  proto: EnumValueDescriptorProto,
  parent: DescEnum,
  sharedPrefix: string | undefined,
): DescEnumValue {
  const { name, number } = proto;
  return {
    kind: 'enum_value',
    proto,
    deprecated: proto.options?.deprecated ?? false,
    parent,
    name,
    localName: safeObjectProperty(sharedPrefix === undefined ? name : name.slice(sharedPrefix.length)),
    number,
    jsonName: name,
    toString: () => `enum value ${parent.typeName}.${name}`,
  };
}

/** What all names begin with, in lower case, when it is the enum's name: `my_enum_` of `MyEnum`. */
function sharedPrefixOf(enumName: string, values: readonly EnumValueDescriptorProto[]): string | undefined {
  const snake = enumName.slice(0, 1) + enumName.slice(1).replaceAll(/[A-Z]/g, (letter) => `_${letter}`);
  const prefix = `${snake.toLowerCase()}_`;
  const isShared = values.every(
    ({ name }) => name.toLowerCase().startsWith(prefix) && /^\D/.test(name.slice(prefix.length)),
  );
  return isShared ? prefix : undefined;
}
