// Calls from within the process: the composed methods without serialisation. The
// edge and every internal caller go through here, so that nothing is REST-only.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Call } from '../call/call.ts';
import type { Input } from './handler.ts';
import type { Methods } from './methods.ts';

/** Calls methods of this process. Errors are GatewayErrors. */
export interface InProcess {
  /** One message in, one out. */
  unary(call: Call, input: Input): Promise<Message>;
  /** Resolves when the first message is at hand. */
  stream(call: Call, input: Input): Promise<AsyncIterable<Message>>;
}

export function createInProcess(methods: Methods): InProcess {
  return {
    // The method's kind says which of both the handler's promise is for.
    unary(call, input) {
      if (streams(call.method)) throw new Error(`${call.method.name} answers with a stream`);
      return methods.handler(call.method)(input, call) as Promise<Message>;
    },
    stream(call, input) {
      if (!streams(call.method)) throw new Error(`${call.method.name} answers with one message`);
      return methods.handler(call.method)(input, call) as Promise<AsyncIterable<Message>>;
    },
  };
}

function streams(method: DescMethod): boolean {
  return method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming';
}
