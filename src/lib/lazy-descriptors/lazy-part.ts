// What a message, an enum and a service have alike: their place in their file's bytes, their names, and a descriptor that is
// decoded when it is first read.
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { HoldingFile } from './holding-file.ts';
import type { Slice } from './slice.ts';

type Encoded = Message & { readonly options?: { readonly deprecated: boolean } };

export abstract class LazyPart<Proto extends Encoded> {
  abstract readonly kind: string;
  readonly file: HoldingFile;
  #parent: DescMessage | undefined;
  #bytes: Uint8Array | undefined;
  #name = '';
  #typeName: string | undefined;
  #proto: Proto | undefined;

  constructor(file: HoldingFile) {
    this.file = file;
  }

  /** The message that it is nested in. */
  get parent(): DescMessage | undefined {
    this.file.scan();
    return this.#parent;
  }

  get name(): string {
    this.file.scan();
    return this.#name;
  }

  get typeName(): string {
    if (this.#typeName === undefined) this.file.scan();
    return this.#typeName as string;
  }

  get deprecated(): boolean {
    return this.proto.options?.deprecated ?? false;
  }

  get proto(): Proto {
    if (this.#proto === undefined) {
      this.file.scan();
      this.#proto = this.decode(this.#bytes as Uint8Array);
    }
    return this.#proto;
  }

  toString(): string {
    return `${this.kind} ${this.typeName}`;
  }

  protected abstract decode(bytes: Uint8Array): Proto;

  /** Notes where it is. @returns a reader at its first member */
  protected locate(bytes: Uint8Array, { from, to }: Slice, parent?: DescMessage): BinaryReader {
    this.#bytes = bytes.subarray(from, to);
    this.#parent = parent;
    const reader = new BinaryReader(bytes);
    reader.pos = from;
    return reader;
  }

  /** @param prefix of its full name, which is returned */
  protected call(name: string, prefix: string): string {
    this.#name = name;
    this.#typeName = prefix + name;
    return this.#typeName;
  }
}
