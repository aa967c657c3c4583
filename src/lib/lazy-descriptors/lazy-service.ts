// A service's descriptor: its methods are known by their names.
import { type DescFile, type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { type ServiceDescriptorProto, ServiceDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { HoldingFile } from './holding-file.ts';
import { LazyMethod } from './lazy-method.ts';
import { type Slice, slice } from './slice.ts';

/** Members of google.protobuf.ServiceDescriptorProto. */
const NAME = 1;
const METHOD = 2;

export class LazyService implements DescService {
  readonly kind = 'service';
  readonly file: DescFile;
  readonly #file: HoldingFile;
  readonly #methods: DescMethod[] = [];
  readonly #method: Record<string, DescMethod> = {};
  #bytes: Uint8Array | undefined;
  #slice: Slice = { from: 0, to: 0 };
  #name = '';
  #typeName: string | undefined;
  #proto: ServiceDescriptorProto | undefined;

  constructor(file: HoldingFile) {
    this.file = file;
    this.#file = file;
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

  get methods(): DescMethod[] {
    this.#file.scan();
    return this.#methods;
  }

  get method(): Record<string, DescMethod> {
    this.#file.scan();
    return this.#method;
  }

  get proto(): ServiceDescriptorProto {
    if (this.#proto === undefined) {
      this.#file.scan();
      const { from, to } = this.#slice;
      this.#proto = fromBinary(ServiceDescriptorProtoSchema, (this.#bytes as Uint8Array).subarray(from, to));
    }
    return this.#proto;
  }

  /** Told by its file where it is, and what the name is in. */
  place(bytes: Uint8Array, at: Slice, prefix: string): void {
    this.#bytes = bytes;
    this.#slice = at;
    const reader = new BinaryReader(bytes);
    reader.pos = at.from;
    while (reader.pos < at.to) {
      const [member, type] = reader.tag();
      if (member === NAME) {
        this.#name = reader.string();
        this.#typeName = prefix + this.#name;
      } else if (member === METHOD) {
        const method = new LazyMethod(this, this.#file, bytes, slice(reader)) as DescMethod;
        this.#methods.push(method);
        this.#method[method.localName] = method;
      } else reader.skip(type, member);
    }
  }

  toString(): string {
    return `service ${this.typeName}`;
  }
}
