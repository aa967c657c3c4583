// InvokeModel over the chat form, for bodies whose form is known.
import type { DescMessage, JsonObject, MessageShape } from '@bufbuild/protobuf';
import {
  type InvokeModelEvent,
  InvokeModelEventSchema,
  type InvokeModelRequest,
  InvokeModelRequestSchema,
  type InvokeModelResponse,
  InvokeModelResponseSchema,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { validationFailed } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, TranslationContext } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import type { Carries } from '../ability.ts';
import type { AsChat, Form, PieceTranslator } from '../form.ts';
import { jsonOf } from '../json-of.ts';
import { messageJson } from '../messages/answer.ts';
import { MessageEvents } from '../messages/events.ts';
import { chatRequest } from '../messages/request.ts';
import { wholeAsEvents as messageAsEvents } from '../messages/whole-as-events.ts';
import { converseAnswer, converseEvents } from './answer.ts';
import { converseAsChat } from './form.ts';
import { answerKind, type InvokeKind, requestKind } from './invoke-kind.ts';
import { wholeAsEvents as converseAsEvents } from './whole-as-events.ts';

/** The form over the given JSON. */
export function invokeForm(
  json: MessageJson,
): Form<InvokeModelRequest, InvokeModelResponse, InvokeModelEvent> {
  return {
    toChat: (request, carries, stream, { provider }) =>
      bodyAsChat(bodyOf(json, request), carries, stream, provider.id),
    answer(completion, request, { target: { provider } }, usage) {
      const counts = typeof usage === 'object' ? usage : completion.usage;
      const kind = requestKind(bodyOf(json, request));
      if (kind === 'chat') return answerOf(json, json.encode(ChatCompletionSchema, completion) as JsonObject);
      const message = messageJson(completion, counts, request.model ?? '', provider.id);
      return answerOf(json, kind === 'nova' ? converseAnswer(message) : message);
    },
    pieces: (request, context) => piecesOf(json, request, context),
    wholeAsChunks: (answer) => invokeEvents(json, answer),
  };
}

/** The request's JSON, its model too. */
export function bodyOf(json: MessageJson, request: InvokeModelRequest): JsonObject {
  return json.encode(InvokeModelRequestSchema, request) as JsonObject;
}

/** @throws GatewayError validation_failed for a body that only Bedrock can be asked */
function bodyAsChat(body: JsonObject, carries: Carries, stream: boolean, provider: string): AsChat {
  switch (requestKind(body)) {
    case 'messages': {
      const { anthropic_version: _, anthropic_beta: betas, ...rest } = body;
      const asked = carries.own && betas !== undefined ? { ...rest, betas } : rest;
      return chatRequest(asked, carries, stream, provider);
    }
    case 'nova': {
      const { schemaVersion: _, inferenceConfig, ...rest } = body;
      const { max_new_tokens: tokens, ...config } = (inferenceConfig ?? {}) as JsonObject;
      return converseAsChat(
        { ...rest, inferenceConfig: { ...(tokens === undefined ? {} : { maxTokens: tokens }), ...config } },
        carries,
        stream,
        provider,
      );
    }
    case 'chat':
      return {
        chat: { ...body, ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}) },
        lost: [],
      };
    default:
      throw validationFailed([
        {
          field: 'messages',
          rule: 'untranslatable',
          message:
            "a body of this model's own form is served by Bedrock alone; other providers take Anthropic's Messages (anthropic_version), Amazon Nova's and OpenAI's chat",
        },
      ]);
  }
}

function piecesOf(
  json: MessageJson,
  request: InvokeModelRequest,
  { now, target: { provider } }: TranslationContext,
): PieceTranslator<InvokeModelEvent> {
  const kind: InvokeKind = requestKind(bodyOf(json, request));
  if (kind === 'chat') return new ChatPieces(json);
  const start = now();
  const emit = (event: JsonObject): InvokeModelEvent[] => {
    const events =
      kind === 'nova' ? converseEvents(event, () => now() - start) : event.type === 'ping' ? [] : [event];
    return events.map((one) => eventOf(json, one));
  };
  return new MessageEvents(emit, { model: request.model ?? '', provider: provider.id });
}

class ChatPieces implements PieceTranslator<InvokeModelEvent> {
  readonly #json: MessageJson;

  constructor(json: MessageJson) {
    this.#json = json;
  }

  push(chunk: ChatCompletionChunk): readonly InvokeModelEvent[] {
    return [eventOf(this.#json, this.#json.encode(ChatCompletionChunkSchema, chunk) as JsonObject)];
  }

  end(): readonly InvokeModelEvent[] {
    return [];
  }
}

/** A whole answer as events. */
export function invokeEvents(json: MessageJson, answer: InvokeModelResponse): readonly InvokeModelEvent[] {
  const body = jsonOf(json, InvokeModelResponseSchema, answer);
  const events = ((): JsonObject[] => {
    switch (answerKind(body)) {
      case 'messages':
        return messageAsEvents(body);
      case 'nova':
        return converseAsEvents(body);
      case 'chat':
        return chatAsChunks(json.decode(ChatCompletionSchema, body), true).map(
          (chunk) => json.encode(ChatCompletionChunkSchema, chunk) as JsonObject,
        );
      default:
        return [body];
    }
  })();
  return events.map((one) => eventOf(json, one));
}

/** An answer with its JSON attached. */
export function answerOf(json: MessageJson, body: JsonObject): InvokeModelResponse {
  return attached(json, InvokeModelResponseSchema, body);
}

/** A piece with its JSON attached. */
export function eventOf(json: MessageJson, event: JsonObject): InvokeModelEvent {
  return attached(json, InvokeModelEventSchema, event);
}

function attached<D extends DescMessage>(json: MessageJson, schema: D, body: JsonObject): MessageShape<D> {
  return attachRawJson(
    lazyMessage(schema, () => json.decode(schema, body)) as MessageShape<D>,
    JSON.stringify(body),
  );
}
