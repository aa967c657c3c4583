// A service's descriptor: its methods are known by their names.
import { type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf';
import { type ServiceDescriptorProto, ServiceDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { LazyMethod } from './lazy-method.ts';
import { LazyPart } from './lazy-part.ts';
import { type Slice, slice } from './slice.ts';

/** Members of google.protobuf.ServiceDescriptorProto. */
const NAME = 1;
const METHOD = 2;

export class LazyService extends LazyPart<ServiceDescriptorProto> implements DescService {
  override readonly kind = 'service';
  readonly #methods: DescMethod[] = [];
  readonly #method: Record<string, DescMethod> = {};

  get methods(): DescMethod[] {
    this.file.scan();
    return this.#methods;
  }

  get method(): Record<string, DescMethod> {
    this.file.scan();
    return this.#method;
  }

  /** Told by its file where it is, and what the name is in. */
  place(bytes: Uint8Array, at: Slice, prefix: string): void {
    const reader = this.locate(bytes, at);
    while (reader.pos < at.to) {
      const [member, type] = reader.tag();
      if (member === NAME) this.call(reader.string(), prefix);
      else if (member === METHOD) {
        const method = new LazyMethod(this, this.file, bytes, slice(reader)) as DescMethod;
        this.#methods.push(method);
        this.#method[method.localName] = method;
      } else reader.skip(type, member);
    }
  }

  protected override decode(bytes: Uint8Array): ServiceDescriptorProto {
    return fromBinary(ServiceDescriptorProtoSchema, bytes);
  }
}
