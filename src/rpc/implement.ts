// What implements a service, held against the service's descriptor when it is compiled.
import type {
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Call } from '../call/call.ts';
import type { Implementation } from './handler.ts';
import type { Registration } from './methods.ts';

/** A method in the messages that its descriptor names; a stream is returned once its first message is at hand. */
type Method<M extends DescMethod> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: Call) => Promise<AsyncIterable<MessageShape<O>>>
      : M extends DescMethodClientStreaming<infer I, infer O>
        ? (requests: AsyncIterable<MessageShape<I>>, call: Call) => Promise<MessageShape<O>>
        : M extends DescMethodBiDiStreaming<infer I, infer O>
          ? (requests: AsyncIterable<MessageShape<I>>, call: Call) => Promise<AsyncIterable<MessageShape<O>>>
          : never;

/** Every method of a service, by its local name. */
type Methods<S extends DescService> = { readonly [N in keyof S['method']]: Method<S['method'][N]> };

/**
 * A service with what implements it. Does not compile when a method is missing, has a name that the service does not
 * have, takes or answers another message, or streams where the service does not.
 */
export function implement<S extends DescService, T extends Methods<S>>(
  service: S,
  implementation: T & Readonly<Record<Exclude<keyof T, keyof S['method']>, never>>,
): Registration {
  // The transports hand a method the messages that its descriptor names: the registry is not typed by method.
  return { service, implementation: implementation as Implementation };
}
