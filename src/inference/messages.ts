// Messages, in the shape of Anthropic's API.
import { create } from '@bufbuild/protobuf';
import {
  type CountMessageTokensRequest,
  type CreateMessageRequest,
  type MessageTokens,
  MessageTokensSchema,
} from '../../gen/gateway/inference/v2/messages_pb.ts';
import type { Call } from '../call/call.ts';
import { textsIn } from '../ledger/tokens/texts.ts';
import { GatewayError } from '../lib/errors.ts';
import { checkMessages } from './message-rules.ts';
import { threadOf } from './message-threads.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';
import type { KeptResponses } from './responses/kept-responses.ts';

/** The methods of MessagesService. */
export function messagesService(pipeline: Pipeline, kept: KeptResponses) {
  return {
    async createMessage(request: CreateMessageRequest, call: Call) {
      checkMessages(request, call.headers.plain('anthropic-beta'));
      const thread = await threadOf(kept, call, request);
      const answer = await runWhole(pipeline, call, 'messages', request, request.model, thread?.narrowed);
      return thread === undefined ? answer : thread.whole(answer);
    },
    async streamMessage(request: CreateMessageRequest, call: Call) {
      checkMessages(request, call.headers.plain('anthropic-beta'));
      const thread = await threadOf(kept, call, request);
      const events = await runStream(pipeline, call, 'messages', request, request.model, thread?.narrowed);
      return thread === undefined ? events : thread.streamed(events);
    },
    async countMessageTokens(request: CountMessageTokensRequest, call: Call): Promise<MessageTokens> {
      checkMessages(request, call.headers.plain('anthropic-beta'));
      try {
        return await runWhole(pipeline, call, 'countTokens', request, request.model);
      } catch (thrown) {
        if (!(thrown instanceof GatewayError) || thrown.reason !== 'operation_unsupported') throw thrown;
        return counted(request, pipeline);
      }
    },
  };
}

/** Tokens of an image or of a page, as Anthropic's documents have them ("Vision": at most about 1,600). */
const TOKENS_OF_MEDIA = 1600;

async function counted(request: CountMessageTokensRequest, { countTexts }: Pipeline): Promise<MessageTokens> {
  const { messages, system, tools } = request;
  const [tokens = 0] = await countTexts([textsIn([system, messages, tools])]);
  const media = mediaIn(messages) * TOKENS_OF_MEDIA;
  return create(MessageTokensSchema, { inputTokens: BigInt(tokens + media), estimated: true });
}

function mediaIn(messages: CountMessageTokensRequest['messages']): number {
  let found = 0;
  for (const { content } of messages) {
    if (content?.kind.case !== 'blocks') continue;
    for (const { type } of content.kind.value.values) if (type === 'image' || type === 'document') found++;
  }
  return found;
}
