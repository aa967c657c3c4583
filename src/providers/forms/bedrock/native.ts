// Converse with Bedrock itself: the request nearly as it came, the answer and its events unchanged.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ConverseEvent,
  type ConverseRequest,
  ConverseRequestSchema,
  type ConverseResponse,
  ConverseResponseSchema,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import { fail } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { MessageJson, Outbound, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { modelSegment } from '../../dialects/bedrock/model-id.ts';
import { readObject } from '../../dialects/bedrock/response.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { readUsage } from '../../usage/tap.ts';
import { jsonOf } from '../json-of.ts';
import { keptIn } from '../messages/kept.ts';
import { answerOf, eventOf } from './form.ts';
import { NativeEvents } from './native-events.ts';
import { wholeAsEvents } from './whole-as-events.ts';

export const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
export const FRAME_HEADERS = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/vnd.amazon.eventstream'],
]);

/** The operation over the given JSON. */
export function nativeConverse(
  json: MessageJson,
): StreamingOperation<ConverseRequest, ConverseResponse, ConverseEvent> {
  const call = (request: ConverseRequest, verb: string, headers: readonly string[]): Outbound => {
    const { model: _, ...body } = json.encode(ConverseRequestSchema, request) as JsonObject;
    const path = `/model/${modelSegment(request.model ?? '')}/${verb}`;
    return { method: 'POST', path, headers, body: jsonBody(withoutKept(body)) };
  };
  return {
    request: (request) => call(request, 'converse', JSON_HEADERS),
    streamRequest: (request) => call(request, 'converse-stream', FRAME_HEADERS),
    response: (body, _request, context) => readAnswer(json, body, context),
    stream: (_request, context) =>
      new NativeEvents(json, context.target.provider.id, (one) => eventOf(json, one)),
    wholeAsChunks: (answer) =>
      wholeAsEvents(jsonOf(json, ConverseResponseSchema, answer)).map((one) => eventOf(json, one)),
  };
}

/** Thinking that another wire made: Bedrock refuses signatures that are not its own. */
function withoutKept(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages) || !messages.some(holdsKept)) return body;
  return {
    ...body,
    messages: messages.map((message) => {
      if (!isObject(message) || !Array.isArray(message.content)) return message;
      return { ...message, content: message.content.filter((block) => !isObject(block) || !isKept(block)) };
    }),
  };
}

function holdsKept(message: unknown): boolean {
  if (!isObject(message) || !Array.isArray(message.content)) return false;
  return message.content.some((block) => isObject(block) && isKept(block));
}

function isKept({ reasoningContent }: JsonObject): boolean {
  return keptIn(objectOf(objectOf(reasoningContent)?.reasoningText)?.signature) !== undefined;
}

function readAnswer(json: MessageJson, body: Uint8Array, context: TranslationContext) {
  const object = readObject(body, context);
  const provider = context.target.provider.id;
  if (!isObject(object.output) && textOf(object.stopReason) === undefined) {
    const message = textOf(object.message) ?? textOf(object.Message);
    if (message !== undefined) throw fail('upstream_status', message, { provider, status: 502 });
    throw fail('upstream_garbage', 'the provider answered without content', { provider });
  }
  const counts = objectOf(object.usage);
  return {
    answer: answerOf(json, object),
    usage: counts && readUsage(json, counts),
    model: undefined,
    tier: textOf(objectOf(object.serviceTier)?.type),
  };
}
