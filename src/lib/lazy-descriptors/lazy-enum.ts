// An enum's descriptor: its values are built when they are first read.
import {
  type DescEnum,
  type DescEnumValue,
  type DescFile,
  type DescMessage,
  fromBinary,
} from '@bufbuild/protobuf';
import { safeObjectProperty } from '@bufbuild/protobuf/reflect';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  type EnumValueDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import type { HoldingFile } from './holding-file.ts';
import type { Slice } from './slice.ts';

/** Member of google.protobuf.EnumDescriptorProto; it is the first. */
const NAME = 1;

interface Values {
  readonly values: DescEnumValue[];
  readonly value: Record<number, DescEnumValue>;
  readonly sharedPrefix: string | undefined;
}

export class LazyEnum implements DescEnum {
  readonly kind = 'enum';
  readonly open = true;
  readonly file: DescFile;
  readonly #file: HoldingFile;
  #parent: DescMessage | undefined;
  #bytes: Uint8Array | undefined;
  #slice: Slice = { from: 0, to: 0 };
  #name = '';
  #typeName: string | undefined;
  #proto: EnumDescriptorProto | undefined;
  #values: Values | undefined;

  constructor(file: HoldingFile) {
    this.file = file;
    this.#file = file;
  }

  get parent(): DescMessage | undefined {
    this.#file.scan();
    return this.#parent;
  }

  get name(): string {
    this.#file.scan();
    return this.#name;
  }

  get typeName(): string {
    if (this.#typeName === undefined) this.#file.scan();
    return this.#typeName as string;
  }

  get deprecated(): boolean {
    return this.proto.options?.deprecated ?? false;
  }

  get values(): DescEnumValue[] {
    return (this.#values ?? this.#read()).values;
  }

  get value(): Record<number, DescEnumValue> {
    return (this.#values ?? this.#read()).value;
  }

  get sharedPrefix(): string | undefined {
    return (this.#values ?? this.#read()).sharedPrefix;
  }

  get proto(): EnumDescriptorProto {
    if (this.#proto === undefined) {
      this.#file.scan();
      const { from, to } = this.#slice;
      this.#proto = fromBinary(EnumDescriptorProtoSchema, (this.#bytes as Uint8Array).subarray(from, to));
    }
    return this.#proto;
  }

  /** Told by its file where it is, and what the name is in. */
  place(
    bytes: Uint8Array,
    at: Slice,
    prefix: string,
    parent: DescMessage | undefined,
    types: Map<string, DescMessage | DescEnum>,
  ): void {
    this.#bytes = bytes;
    this.#slice = at;
    this.#parent = parent;
    const reader = new BinaryReader(bytes);
    reader.pos = at.from;
    const [member] = reader.tag();
    if (member !== NAME) throw new Error('the name of an enum comes first');
    this.#name = reader.string();
    this.#typeName = prefix + this.#name;
    types.set(this.#typeName, this);
  }

  toString(): string {
    return `enum ${this.typeName}`;
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
