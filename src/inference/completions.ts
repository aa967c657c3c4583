// Text completions.
import type { CreateCompletionRequest } from '../../gen/gateway/inference/v2/completions_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of CompletionsService. */
export function completionsService(pipeline: Pipeline) {
  return {
    createCompletion: (request: CreateCompletionRequest, call: Call) =>
      runWhole(pipeline, call, 'completions', request, request.model),
    streamCompletion: (request: CreateCompletionRequest, call: Call) =>
      runStream(pipeline, call, 'completions', request, request.model),
  };
}
