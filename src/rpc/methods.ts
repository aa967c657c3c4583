// The composed methods of all services: what the transports call.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { annotationsOf } from '../rest/routes.ts';
import type { Handler, Implementation, Interceptor } from './handler.ts';

/** One service with what implements it. */
export interface Registration {
  readonly service: DescService;
  readonly implementation: Implementation;
}

/** All methods, by descriptor. */
export class Methods {
  readonly services: readonly DescService[];
  readonly #composed = new Map<DescMethod, Handler>();

  /** @throws Error for a method without implementation or annotations: it must not be served. */
  constructor(registrations: readonly Registration[], interceptors: readonly Interceptor[]) {
    this.services = registrations.map((registration) => registration.service);
    for (const { service, implementation } of registrations) {
      for (const method of service.methods) {
        annotationsOf(method);
        const own = implementation[method.localName];
        if (own === undefined) throw new Error(`${service.typeName}/${method.name} has no implementation`);
        const handler = interceptors.reduceRight((next, interceptor) => interceptor(method)(next), own);
        this.#composed.set(method, handler);
      }
    }
  }

  /** Whether the method is one of these services'. */
  has(method: DescMethod): boolean {
    return this.#composed.has(method);
  }

  /** The method with its interceptors. */
  handler(method: DescMethod): Handler {
    const handler = this.#composed.get(method);
    if (handler === undefined) throw new Error(`${method.parent.typeName}/${method.name} is not served here`);
    return handler;
  }
}
