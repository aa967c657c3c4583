// Members that the gateway adds to an answer: explanations and the results of guardrails. They stand where members
// stand that the contract does not name, so that no client is disturbed by them.
import type { JsonObject } from '@bufbuild/protobuf';
import { GatewayError } from '../../lib/errors.ts';

/** The answer with further members; a stream with them on its first piece. */
export function withMembers<Answer extends object>(answer: Answer, members: JsonObject): Answer {
  const add = (message: object): object => withExtra(message, members);
  if (!(Symbol.asyncIterator in answer)) return add(answer) as Answer;
  return firstMapped(answer as AsyncIterable<object>, add) as unknown as Answer;
}

/** The error with further members of its body. */
export function errorWithMembers(error: GatewayError, members: JsonObject): GatewayError {
  return new GatewayError(error.reason, error.message, {
    ...error.details,
    members: { ...error.details.members, ...members },
    cause: error.cause,
  });
}

function withExtra(message: object, members: JsonObject): object {
  // A message that is read when it is first looked at has no members before.
  void (message as { readonly extra?: unknown }).extra;
  const copy = { ...message } as { extra?: JsonObject };
  copy.extra = { ...copy.extra, ...members };
  return copy;
}

function firstMapped(
  messages: AsyncIterable<object>,
  map: (message: object) => object,
): AsyncIterable<object> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      let first = true;
      return {
        async next() {
          const result = await inner.next();
          if (result.done || !first) return result;
          first = false;
          return { done: false, value: map(result.value) };
        },
        async return() {
          await inner.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** The stream with one more piece after its last one, made from that. */
export function withLast(
  messages: AsyncIterable<object>,
  make: (last: object) => object | undefined,
): AsyncIterable<object> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      let last: object | undefined;
      return {
        async next() {
          const result = await inner.next();
          if (!result.done) last = result.value;
          const more = result.done && last !== undefined ? make(last) : undefined;
          if (!result.done || more === undefined) return result;
          last = undefined;
          return { done: false, value: more };
        },
        async return() {
          await inner.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
