// Whether an event of a stream that is passed through tells that its answer failed, whichever wire the stream speaks.
import type { JsonObject } from '@bufbuild/protobuf';
import type { GatewayError } from '../lib/errors.ts';
import type { SseEvent } from '../lib/sse.ts';
import { errorInside as inMessages } from './dialects/anthropic/error.ts';
import { exceptionOf, isException } from './dialects/bedrock/error.ts';
import { errorInside as inGemini } from './dialects/gemini/error.ts';
import { errorInside as inChat, speaksOfError } from './dialects/openai/error.ts';
import { failureOf } from './forms/responses/failure.ts';
import { isObject, objectOf } from './json-object.ts';

/** Whether an event may tell of a failure: others need not be parsed for it. */
export function mayFail(event: SseEvent): boolean {
  return event.data.includes('"error"') || event.event === 'error' || isException(event);
}

/** What the event tells; undefined: no failure. @param json its data */
export function failureIn(event: SseEvent, json: unknown, provider: string): GatewayError | undefined {
  if (isException(event)) return exceptionOf(event, provider);
  if (!isObject(json)) return undefined;
  if (objectOf(json.response) !== undefined) return failureOf(objectOf(json.response), provider);
  return event.event === 'error' || json.type === 'error' || speaksOfError(json)
    ? errorOf(json, provider)
    : undefined;
}

function errorOf(json: JsonObject, provider: string): GatewayError {
  const error = objectOf(json.error);
  if (error === undefined) {
    // An `error` event of Responses has its words at its top.
    const { type: _, sequence_number: __, ...words } = json;
    return inChat(json.error === undefined ? { error: words } : json, provider);
  }
  if (json.type === 'error') return inMessages(json, provider);
  return typeof error.status === 'string' ? inGemini(json, provider) : inChat(json, provider);
}
