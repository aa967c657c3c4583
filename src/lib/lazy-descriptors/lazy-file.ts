// A file's descriptor: its bytes are decoded when something in it is first read, and then only as far as the names of its
// messages, enums and services.
import {
  type DescEnum,
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
} from '@bufbuild/protobuf';
import { BinaryReader, base64Decode } from '@bufbuild/protobuf/wire';
import { Edition, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { HoldingFile } from './holding-file.ts';
import { LazyEnum } from './lazy-enum.ts';
import { LazyMessage, withJsonNames } from './lazy-message.ts';
import { LazyService } from './lazy-service.ts';
import { slice } from './slice.ts';
import { namesOf } from './type-names.ts';

/** Members of google.protobuf.FileDescriptorProto. */
const NAME = 1;
const PACKAGE = 2;
const MESSAGE = 4;
const ENUM = 5;
const SERVICE = 6;
const EXTENSION = 7;
const SYNTAX = 12;

export class LazyFile implements HoldingFile {
  readonly kind = 'file';
  readonly edition = Edition.EDITION_PROTO3;
  readonly deprecated = false;
  readonly extensions = [];
  readonly dependencies: DescFile[];
  readonly #base64: string;
  readonly #messages: LazyMessage[] = [];
  readonly #enums: LazyEnum[] = [];
  readonly #services: LazyService[] = [];
  readonly #types = new Map<string, DescMessage | DescEnum>();
  #bytes: Uint8Array | undefined;
  #name = '';
  #proto: FileDescriptorProto | undefined;

  constructor(base64: string, imports: readonly DescFile[]) {
    this.#base64 = base64;
    this.dependencies = [...imports];
  }

  /** The path without `.proto`. */
  get name(): string {
    this.scan();
    return this.#name.replace(/\.proto$/, '');
  }

  get proto(): FileDescriptorProto {
    if (this.#proto === undefined) {
      this.scan();
      this.#proto = fromBinary(FileDescriptorProtoSchema, this.#bytes as Uint8Array);
      this.#proto.messageType.forEach(withJsonNames);
      this.#proto.dependency = this.dependencies.map((file) => file.proto.name);
    }
    return this.#proto;
  }

  get messages(): DescMessage[] {
    this.scan();
    return this.#messages;
  }

  get enums(): DescEnum[] {
    this.scan();
    return this.#enums;
  }

  get services(): DescService[] {
    this.scan();
    return this.#services;
  }

  messageAt(place: number): LazyMessage {
    this.#messages[place] ??= new LazyMessage(this);
    return this.#messages[place] as LazyMessage;
  }

  enumAt(place: number): LazyEnum {
    this.#enums[place] ??= new LazyEnum(this);
    return this.#enums[place] as LazyEnum;
  }

  serviceAt(place: number): LazyService {
    this.#services[place] ??= new LazyService(this);
    return this.#services[place] as LazyService;
  }

  /** A message or an enum of this file or of one that it imports, by its full name. @throws Error: there is none */
  type(name: string): DescMessage | DescEnum {
    this.scan();
    const own = this.#types.get(name);
    if (own !== undefined) return own;
    for (const file of this.dependencies) {
      const known = file instanceof LazyFile ? file.#scannedTypes().get(name) : namesOf(file).get(name);
      if (known !== undefined) return known;
    }
    throw new Error(`${this.#name}: ${name} is in none of its imports`);
  }

  /** Finds what is in it; done once. @throws Error for a file that is not of the kind that this project has */
  scan(): void {
    if (this.#bytes !== undefined) return;
    const bytes = base64Decode(this.#base64);
    this.#bytes = bytes;
    const reader = new BinaryReader(bytes);
    let prefix = '';
    let [messages, enums, services] = [0, 0, 0];
    while (reader.pos < reader.len) {
      const [member, type] = reader.tag();
      if (member === NAME) this.#name = reader.string();
      else if (member === PACKAGE) prefix = `${reader.string()}.`;
      else if (member === MESSAGE)
        this.messageAt(messages++).place(bytes, slice(reader), prefix, undefined, this.#types);
      else if (member === ENUM)
        this.enumAt(enums++).place(bytes, slice(reader), prefix, undefined, this.#types);
      else if (member === SERVICE) this.serviceAt(services++).place(bytes, slice(reader), prefix);
      else if (member === EXTENSION) throw new Error(`${this.#name} has extensions: it is read whole`);
      else if (member === SYNTAX && reader.string() !== 'proto3')
        throw new Error(`${this.#name} is not proto3`);
      else if (member !== SYNTAX) reader.skip(type, member);
    }
  }

  toString(): string {
    return `file ${this.#name}`;
  }

  #scannedTypes(): ReadonlyMap<string, DescMessage | DescEnum> {
    this.scan();
    return this.#types;
  }
}
