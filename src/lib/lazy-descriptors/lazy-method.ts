// A method's descriptor: its name and kind are read at once, its messages and options when they are asked for.
import { type DescMessage, type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf';
import { safeObjectProperty } from '@bufbuild/protobuf/reflect';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  type MethodDescriptorProto,
  MethodDescriptorProtoSchema,
  type MethodOptions_IdempotencyLevel,
} from '@bufbuild/protobuf/wkt';
import type { HoldingFile } from './holding-file.ts';
import type { Slice } from './slice.ts';

/** Members of google.protobuf.MethodDescriptorProto. */
const NAME = 1;
const INPUT = 2;
const OUTPUT = 3;
const CLIENT_STREAMS = 5;
const SERVER_STREAMS = 6;

export class LazyMethod {
  readonly kind = 'rpc';
  readonly parent: DescService;
  readonly name: string;
  readonly localName: string;
  readonly methodKind: DescMethod['methodKind'];
  readonly #file: HoldingFile;
  readonly #bytes: Uint8Array;
  readonly #types: { readonly input: string; readonly output: string };
  #input: DescMessage | undefined;
  #output: DescMessage | undefined;
  #proto: MethodDescriptorProto | undefined;

  constructor(parent: DescService, file: HoldingFile, bytes: Uint8Array, { from, to }: Slice) {
    this.parent = parent;
    this.#file = file;
    this.#bytes = bytes.subarray(from, to);
    const reader = new BinaryReader(this.#bytes);
    let [name, input, output, client, server] = ['', '', '', false, false];
    while (reader.pos < reader.len) {
      const [member, type] = reader.tag();
      if (member === NAME) name = reader.string();
      else if (member === INPUT) input = reader.string().slice(1);
      else if (member === OUTPUT) output = reader.string().slice(1);
      else if (member === CLIENT_STREAMS) client = reader.bool();
      else if (member === SERVER_STREAMS) server = reader.bool();
      else reader.skip(type, member);
    }
    this.name = name;
    this.localName = safeObjectProperty(name.slice(0, 1).toLowerCase() + name.slice(1));
    this.methodKind = kindOf(client, server);
    this.#types = { input, output };
  }

  get input(): DescMessage {
    this.#input ??= this.#file.type(this.#types.input) as DescMessage;
    return this.#input;
  }

  get output(): DescMessage {
    this.#output ??= this.#file.type(this.#types.output) as DescMessage;
    return this.#output;
  }

  get deprecated(): boolean {
    return this.proto.options?.deprecated ?? false;
  }

  get idempotency(): MethodOptions_IdempotencyLevel {
    return this.proto.options?.idempotencyLevel ?? 0;
  }

  get proto(): MethodDescriptorProto {
    this.#proto ??= fromBinary(MethodDescriptorProtoSchema, this.#bytes);
    return this.#proto;
  }

  toString(): string {
    return `rpc ${this.parent.typeName}.${this.name}`;
  }
}

function kindOf(client: boolean, server: boolean): DescMethod['methodKind'] {
  if (client) return server ? 'bidi_streaming' : 'client_streaming';
  return server ? 'server_streaming' : 'unary';
}
