// Outermost: calls that go on after their answer. What they come to is in the log and the books like any other call.
import { ResponsesService } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { type Interceptor, isStream, type Output } from '../handler.ts';

const { createResponse, streamResponse } = ResponsesService.method;

export function detachedInterceptor(): Interceptor {
  return (method) => {
    if (method !== createResponse && method !== streamResponse) return (next) => next;
    return (next) => (input, call) =>
      new Promise<Output>((resolve, reject) => {
        let isDetached = false;
        const detach: Call['detach'] = (answer) => {
          isDetached = true;
          call.detached();
          resolve(answer);
        };
        call.detach = detach;
        next(input, call).then((output) => {
          if (isDetached) return drain(output);
          resolve(output);
          return undefined;
        }, reject);
      });
  };
}

/** The answer has no reader: its stages end when its stream does, and report errors themselves. */
async function drain(output: Output): Promise<void> {
  if (!isStream(output)) return;
  try {
    for await (const _ of output);
  } catch {
    // The log has it.
  }
}
