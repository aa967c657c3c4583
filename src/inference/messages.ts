// Messages, in the shape of Anthropic's API.
import type {
  CountMessageTokensRequest,
  CreateMessageRequest,
} from '../../gen/gateway/inference/v2/messages_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of MessagesService. */
export function messagesService(pipeline: Pipeline) {
  return {
    createMessage: (request: CreateMessageRequest, call: Call) =>
      runWhole(pipeline, call, 'messages', request, request.model),
    streamMessage: (request: CreateMessageRequest, call: Call) =>
      runStream(pipeline, call, 'messages', request, request.model),
    countMessageTokens: (request: CountMessageTokensRequest, call: Call) =>
      runWhole(pipeline, call, 'countTokens', request, request.model),
  };
}
