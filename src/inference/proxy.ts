// Pass-through.
import type { ForwardRequest } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../call/call.ts';
import { forward } from './pipeline/forward.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import type { RawListener } from './pipeline/raw-listener.ts';

/** The methods of ProxyService. @param listener see `forward` */
export function proxyService(pipeline: Pipeline, listener: RawListener) {
  return {
    forward: (messages: AsyncIterable<ForwardRequest>, call: Call) =>
      forward(pipeline, call, messages, listener),
  };
}
