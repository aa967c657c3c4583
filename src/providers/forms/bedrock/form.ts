// Converse over the chat form, by way of Messages.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ConverseEvent,
  ConverseEventSchema,
  type ConverseRequest,
  ConverseRequestSchema,
  type ConverseResponse,
  ConverseResponseSchema,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson } from '../../dialect.ts';
import type { Carries } from '../ability.ts';
import type { AsChat, Form } from '../form.ts';
import { jsonOf } from '../json-of.ts';
import { messageJson } from '../messages/answer.ts';
import { MessageEvents } from '../messages/events.ts';
import { Lost } from '../messages/lost.ts';
import { chatRequest } from '../messages/request.ts';
import { converseAnswer, converseEvents } from './answer.ts';
import { asMessages, conversePath } from './as-messages.ts';
import { wholeAsEvents } from './whole-as-events.ts';

/** The form over the given JSON. */
export function converseForm(json: MessageJson): Form<ConverseRequest, ConverseResponse, ConverseEvent> {
  return {
    toChat: (request, carries, stream, { provider }) =>
      converseAsChat(json.encode(ConverseRequestSchema, request) as JsonObject, carries, stream, provider.id),
    answer(completion, request, { target: { provider } }, usage) {
      const counts = typeof usage === 'object' ? usage : completion.usage;
      const message = messageJson(completion, counts, request.model ?? '', provider.id);
      return answerOf(json, converseAnswer(message));
    },
    pieces(request, { now, target: { provider } }) {
      const start = now();
      const emit = (event: JsonObject) =>
        converseEvents(event, () => now() - start).map((one) => eventOf(json, one));
      return new MessageEvents(emit, { model: request.model ?? '', provider: provider.id });
    },
    wholeAsChunks: (answer) =>
      wholeAsEvents(jsonOf(json, ConverseResponseSchema, answer)).map((one) => eventOf(json, one)),
  };
}

/** A body of Converse's in the chat form. */
export function converseAsChat(
  body: JsonObject,
  carries: Carries,
  stream: boolean,
  provider: string,
): AsChat {
  const lost = new Lost();
  const messages = asMessages(body, lost);
  const { chat, lost: others } = chatRequest(messages, { ...carries, own: false }, stream, provider);
  return { chat, lost: [...new Set([...lost.names, ...others.map(conversePath)])] };
}

/** An answer with its JSON attached. */
export function answerOf(json: MessageJson, answer: JsonObject): ConverseResponse {
  return attachRawJson(
    lazyMessage(ConverseResponseSchema, () => json.decode(ConverseResponseSchema, answer)),
    JSON.stringify(answer),
  );
}

/** An event with its JSON attached. */
export function eventOf(json: MessageJson, event: JsonObject): ConverseEvent {
  return attachRawJson(
    lazyMessage(ConverseEventSchema, () => json.decode(ConverseEventSchema, event)),
    JSON.stringify(event),
  );
}
