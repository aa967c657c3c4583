// The composed methods of all services: what the transports call.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Handler, Implementation, Interceptor } from './handler.ts';

/** One service with what implements it. */
export interface Registration {
  readonly service: DescService;
  readonly implementation: Implementation;
}

/** All methods, by descriptor. Each is composed with its first call: there are some five hundred, and most starts need few. */
export class Methods {
  readonly services: readonly DescService[];
  readonly #own = new Map<DescMethod, Handler>();
  readonly #composed = new Map<DescMethod, Handler>();
  readonly #interceptors: readonly Interceptor[];

  /** @throws Error for a method without implementation: it must not be served. */
  constructor(registrations: readonly Registration[], interceptors: readonly Interceptor[]) {
    this.services = registrations.map((registration) => registration.service);
    this.#interceptors = interceptors;
    for (const { service, implementation } of registrations) {
      for (const method of service.methods) {
        const own = implementation[method.localName];
        if (own === undefined) throw new Error(`${service.typeName}/${method.name} has no implementation`);
        this.#own.set(method, own);
      }
    }
  }

  /** Whether the method is one of these services'. */
  has(method: DescMethod): boolean {
    return this.#own.has(method);
  }

  /** The method with its interceptors. @throws Error for one without annotations, or of another service */
  handler(method: DescMethod): Handler {
    return this.#composed.get(method) ?? this.#compose(method);
  }

  #compose(method: DescMethod): Handler {
    const own = this.#own.get(method);
    if (own === undefined) throw new Error(`${method.parent.typeName}/${method.name} is not served here`);
    const handler = this.#interceptors.reduceRight((next, interceptor) => interceptor(method)(next), own);
    this.#composed.set(method, handler);
    return handler;
  }
}
