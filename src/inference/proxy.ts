// Pass-through.
import type { ForwardRequest } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../call/call.ts';
import { forward } from './pipeline/forward.ts';
import type { Pipeline } from './pipeline/pipeline.ts';

/** The methods of ProxyService. */
export function proxyService(pipeline: Pipeline) {
  return {
    forward: (messages: AsyncIterable<ForwardRequest>, call: Call) => forward(pipeline, call, messages),
  };
}
