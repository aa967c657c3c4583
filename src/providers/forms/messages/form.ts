// The Messages API over chat.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateMessageRequest,
  CreateMessageRequestSchema,
  type Message,
  type MessageEvent,
  MessageSchema,
} from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import type { MessageJson } from '../../dialect.ts';
import type { Form } from '../form.ts';
import { jsonOf } from '../json-of.ts';
import { messageOf } from './answer.ts';
import { eventOf, MessageEvents } from './events.ts';
import { chatRequest } from './request.ts';
import { wholeAsEvents } from './whole-as-events.ts';

/** What agents always send, and some wires or models have no word for. */
const OPTIONAL: Readonly<Record<string, string>> = Object.freeze({
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  thinking: 'thinking',
  service_tier: 'service_tier',
  tool_choice: 'tool_choice',
  user: 'metadata.user_id',
});

/** The form over the given JSON. */
export function messagesForm(json: MessageJson): Form<CreateMessageRequest, Message, MessageEvent> {
  return {
    optional: OPTIONAL,
    turns: 'messages',
    toChat: (request, carries, stream, { provider }) =>
      chatRequest(jsonOf(json, CreateMessageRequestSchema, request), carries, stream, provider.id),
    answer(completion, request, { target: { provider } }, usage) {
      const counts = typeof usage === 'object' ? usage : completion.usage;
      return messageOf(json, completion, counts, request.model ?? '', provider.id);
    },
    pieces: (request, { target: { provider } }) =>
      new MessageEvents((event) => [eventOf(json, event)], {
        model: request.model ?? '',
        provider: provider.id,
        read: (text) => eventOf(json, JSON.parse(text) as JsonObject, text),
      }),
    wholeAsChunks: (answer) => messageEvents(json, answer),
  };
}

/** A whole message as events. */
export function messageEvents(json: MessageJson, answer: Message): readonly MessageEvent[] {
  const message: JsonObject = jsonOf(json, MessageSchema, answer);
  return wholeAsEvents(message).map((event) => eventOf(json, event));
}
