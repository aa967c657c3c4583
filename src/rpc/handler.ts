// What a method is to the gateway: one function, however it is called.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Call } from '../call/call.ts';
import { type Batched, batched } from '../lib/runs.ts';

/**
 * A message, or on client-streaming methods the messages as they come. A function is a
 * message that is not decoded yet: it is called after authentication, so that a
 * caller without a key learns nothing about its body.
 */
export type Input = Message | AsyncIterable<Message> | (() => Message);
/** A message, or on server-streaming methods the messages as they come. */
export type Output = Message | AsyncIterable<Message>;

/** Resolves when the answer begins: with the message, or with the stream once its first message is at hand. */
export type Handler = (input: Input, call: Call) => Promise<Output>;

/** Wraps a method's handler; made once per method, so that what its options say is read once. */
export type Interceptor = (method: DescMethod) => (next: Handler) => Handler;

/** A service's methods by their local names, in the gateway's own signatures. */
export type Implementation = Readonly<Record<string, Handler>>;

/** The messages of a stream, with errors mapped. The stream ends when the promise of `onEnd` resolves. */
export function watched(
  messages: AsyncIterable<Message>,
  onError: (thrown: unknown) => Error,
  onEnd: (error: Error | undefined, left: boolean) => Promise<void> | undefined | void,
): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<Message> & Batched<Message> {
      const inner = messages[Symbol.asyncIterator]();
      let over = false;
      const end = (error: Error | undefined, left: boolean): Promise<void> | undefined | void => {
        if (over) return undefined;
        over = true;
        return onEnd(error, left);
      };
      const source = batched(inner);
      const failed = async (thrown: unknown): Promise<Error> => {
        const error = onError(thrown);
        await end(error, false);
        return error;
      };
      return {
        async next() {
          try {
            const result = await inner.next();
            if (result.done) await end(undefined, false);
            return result;
          } catch (thrown) {
            throw await failed(thrown);
          }
        },
        async more() {
          try {
            const more = await source.more();
            if (!more) await end(undefined, false);
            return more;
          } catch (thrown) {
            throw await failed(thrown);
          }
        },
        take: () => source.take(),
        async return() {
          end(undefined, true);
          await inner.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** Whether an output is a stream. */
export function isStream(output: Output | Input): output is AsyncIterable<Message> {
  return typeof output === 'object' && Symbol.asyncIterator in output;
}
