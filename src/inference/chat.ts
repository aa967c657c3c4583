// Chat completions.
import type { CreateChatCompletionRequest } from '../../gen/gateway/inference/v2/chat_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of ChatService. */
export function chatService(pipeline: Pipeline) {
  return {
    createChatCompletion: (request: CreateChatCompletionRequest, call: Call) =>
      runWhole(pipeline, call, 'chat', request, request.model),
    streamChatCompletion: (request: CreateChatCompletionRequest, call: Call) =>
      runStream(pipeline, call, 'chat', request, request.model),
  };
}
