// A message's descriptor: its fields are built when they are first read.
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromBinary,
} from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { type DescriptorProto, DescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { LazyEnum } from './lazy-enum.ts';
import { LazyPart } from './lazy-part.ts';
import { type Members, membersOf } from './members.ts';
import { type Slice, slice } from './slice.ts';

/** Members of google.protobuf.DescriptorProto. */
const NAME = 1;
const NESTED = 3;
const ENUM = 4;
const OPTIONS = 7;
/** Member of google.protobuf.MessageOptions. */
const MAP_ENTRY = 7;

export class LazyMessage extends LazyPart<DescriptorProto> implements DescMessage {
  override readonly kind = 'message';
  readonly nestedExtensions = [];
  readonly #nested: LazyMessage[] = [];
  readonly #enums: LazyEnum[] = [];
  #isMapEntry = false;
  #members: Members | undefined;

  get fields(): DescField[] {
    return (this.#members ?? this.#read()).fields;
  }

  get field(): Record<string, DescField> {
    return (this.#members ?? this.#read()).field;
  }

  get oneofs(): DescOneof[] {
    return (this.#members ?? this.#read()).oneofs;
  }

  get members(): (DescField | DescOneof)[] {
    return (this.#members ?? this.#read()).members;
  }

  get nestedMessages(): DescMessage[] {
    this.file.scan();
    return this.#nested;
  }

  get nestedEnums(): DescEnum[] {
    this.file.scan();
    return this.#enums;
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
    let inner = prefix;
    while (reader.pos < at.to) {
      const [member, type] = reader.tag();
      if (member === NAME) {
        const typeName = this.call(reader.string(), prefix);
        inner = `${typeName}.`;
        types.set(typeName, this);
      } else if (member === NESTED) {
        const nested = new LazyMessage(this.file);
        nested.place(bytes, slice(reader), inner, this, types);
        // The entries of a map are no message that has a name of its own.
        if (!nested.#isMapEntry) this.#nested.push(nested);
      } else if (member === ENUM) {
        const nested = new LazyEnum(this.file);
        this.#enums.push(nested);
        nested.place(bytes, slice(reader), inner, this, types);
      } else if (member === OPTIONS) this.#isMapEntry = isMapEntry(bytes, slice(reader));
      else reader.skip(type, member);
    }
  }

  protected override decode(bytes: Uint8Array): DescriptorProto {
    const proto = fromBinary(DescriptorProtoSchema, bytes);
    withJsonNames(proto);
    return proto;
  }

  #read(): Members {
    this.#members = membersOf(this, (name) => this.file.type(name));
    return this.#members;
  }
}

function isMapEntry(bytes: Uint8Array, { from, to }: Slice): boolean {
  const reader = new BinaryReader(bytes);
  reader.pos = from;
  while (reader.pos < to) {
    const [member, type] = reader.tag();
    if (member === MAP_ENTRY) return reader.bool();
    reader.skip(type, member);
  }
  return false;
}

/** Gives fields the names that generated code leaves out: those that follow from the field's own. */
export function withJsonNames(message: DescriptorProto): void {
  for (const field of message.field)
    if (!Object.hasOwn(field, 'jsonName')) field.jsonName = protoCamelCase(field.name);
  message.nestedType.forEach(withJsonNames);
}
