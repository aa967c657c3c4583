// Conversations and models' own bodies, in the shape of Amazon Bedrock Runtime.
import type { ConverseRequest, InvokeModelRequest } from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of BedrockService. */
export function bedrockService(pipeline: Pipeline) {
  return {
    converse: (request: ConverseRequest, call: Call) =>
      runWhole(pipeline, call, 'converse', request, request.model),
    converseStream: (request: ConverseRequest, call: Call) =>
      runStream(pipeline, call, 'converse', request, request.model),
    invokeModel: (request: InvokeModelRequest, call: Call) =>
      runWhole(pipeline, call, 'invokeModel', request, request.model),
    invokeModelWithResponseStream: (request: InvokeModelRequest, call: Call) =>
      runStream(pipeline, call, 'invokeModel', request, request.model),
  };
}
