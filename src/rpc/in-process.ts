// Calls from within the process: the composed methods without serialisation. The
// edge and every internal caller go through here, so that nothing is REST-only.
import type { Message } from '@bufbuild/protobuf';
import type { Call } from '../access/call.ts';
import { type Input, isStream } from './handler.ts';
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
    async unary(call, input) {
      const output = await methods.handler(call.method)(input, call);
      if (isStream(output)) throw new Error(`${call.method.name} answers with a stream`);
      return output;
    },
    async stream(call, input) {
      const output = await methods.handler(call.method)(input, call);
      if (!isStream(output)) throw new Error(`${call.method.name} answers with one message`);
      return output;
    },
  };
}
