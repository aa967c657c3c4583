// The Responses API with those who publish it: the request nearly as it came, the answer and its events unchanged.
import type { JsonObject, Message } from '@bufbuild/protobuf';
import {
  type CompactedResponse,
  CompactedResponseSchema,
  type CompactResponseRequest,
  CompactResponseRequestSchema,
  type CreateResponseRequest,
  CreateResponseRequestSchema,
  type ModelResponse,
  ModelResponseSchema,
  type ResponseEvent,
  type ResponseInput,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson, rawJsonOf } from '../../../lib/raw-json.ts';
import type {
  MessageJson,
  Operation,
  Outbound,
  ProviderEntry,
  StreamingOperation,
  Translated,
  TranslationContext,
} from '../../dialect.ts';
import { errorInside, speaksOfError } from '../../dialects/openai/error.ts';
import { readAnyObject, readObject } from '../../dialects/openai/response.ts';
import { FailedAnswer } from '../../failed-answer.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { ResponseSearches, withSearches } from '../../usage/searches.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { jsonOf } from '../json-of.ts';
import { eventsOf } from './events-of.ts';
import { failureOf } from './failure.ts';
import { NativeEvents } from './native-events.ts';
import { unpack } from './packed.ts';

const PATH = '/responses';
const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);

/** The operation over the given JSON. */
export function nativeResponses(
  json: MessageJson,
): StreamingOperation<CreateResponseRequest, ModelResponse, ResponseEvent> {
  return {
    request: (request, context) => createCall(json, kept(request, context), false),
    streamRequest: (request, context) => createCall(json, kept(request, context), true),
    response: (body, _request, context) => made(readResponse(json, body, context), context),
    stream: (_request, { target: { provider } }) => new NativeEvents(json, provider),
    wholeAsChunks: (answer) => eventsOf(json, answer),
  };
}

/** The request. @throws GatewayError validation_failed for a conversation where the provider keeps none */
function kept(request: CreateResponseRequest, { target: { provider } }: TranslationContext) {
  if (request.conversation !== undefined && provider.native?.includes('createConversation') !== true)
    throw invalidField(
      'conversation',
      `is not possible: ${provider.id} keeps no conversations; send the earlier items in input, or choose a provider with conversations`,
    );
  return request;
}

/** The shortening of a conversation. */
export function nativeCompaction(json: MessageJson): Operation<CompactResponseRequest, CompactedResponse> {
  return {
    request: (request) => ({
      method: 'POST',
      path: `${PATH}/compact`,
      headers: JSON_HEADERS,
      body: bodyOf(json, CompactResponseRequestSchema, request, request.input, undefined),
    }),
    response(body, _request, context) {
      const object = readObject(body, context);
      const answer = lazyMessage(CompactedResponseSchema, () => json.decode(CompactedResponseSchema, object));
      return { answer: attachRawJson(answer, body), usage: usageOf(json, object, context), model: undefined };
    },
  };
}

function createCall(json: MessageJson, request: CreateResponseRequest, stream: boolean): Outbound {
  const body = bodyOf(json, CreateResponseRequestSchema, request, request.input, stream);
  return { method: 'POST', path: PATH, headers: stream ? SSE_HEADERS : JSON_HEADERS, body };
}

/** The caller's own text where it says the same. @param stream undefined: the operation has no such member */
function bodyOf(
  json: MessageJson,
  schema: typeof CreateResponseRequestSchema | typeof CompactResponseRequestSchema,
  request: Message & { readonly stream?: boolean },
  input: ResponseInput | undefined,
  stream: boolean | undefined,
): Outbound['body'] {
  const raw = rawJsonOf(request);
  const foreign = holdsForeign(input);
  if (raw !== undefined && !foreign && (request.stream ?? false) === (stream ?? false)) return raw;
  const { stream: _, ...body } = jsonOf(json, schema, request);
  if (foreign) body.input = arrayOf(body.input).filter((item) => !isObject(item) || !isForeign(item));
  return jsonBody(stream ? { ...body, stream } : body);
}

/** Reasoning that another wire gave: this one could not read it. */
function holdsForeign(input: ResponseInput | undefined): boolean {
  if (input?.kind.case !== 'items') return false;
  return input.kind.value.values.some(
    ({ type, extra }) => type === 'reasoning' && isForeign({ type, ...extra }),
  );
}

function isForeign({ type, encrypted_content: content }: JsonObject): boolean {
  return type === 'reasoning' && unpack(content) !== undefined;
}

/** A whole response, and its JSON. */
interface ReadResponse extends Translated<ModelResponse> {
  readonly object: JsonObject;
}

/** A whole response with the provider's own bytes, one that failed too. */
export function readResponse(json: MessageJson, body: Uint8Array, context: TranslationContext): ReadResponse {
  const provider = context.target.provider.id;
  const object = readAnyObject(body, context);
  if (!Array.isArray(object.output)) {
    if (speaksOfError(object)) throw errorInside(object, provider);
    throw fail('upstream_garbage', 'the provider answered without output', { provider });
  }
  const answer = attachRawJson(
    lazyMessage(ModelResponseSchema, () => json.decode(ModelResponseSchema, object)),
    body,
  );
  const { model, service_tier: tier } = object;
  const usage = usageOf(json, object, context);
  return { object, answer, usage, model: textOf(model), tier: textOf(tier) };
}

/** A response that was asked for now. @throws FailedAnswer for one that failed */
function made({ object, ...read }: ReadResponse, { target }: TranslationContext): Translated<ModelResponse> {
  const failure = failureOf(object, target.provider.id);
  if (failure !== undefined) throw new FailedAnswer(failure.message, failure.details, read.usage, read.model);
  return read;
}

function usageOf(json: MessageJson, object: JsonObject, { target }: TranslationContext): UsageReport {
  return responseUsage(json, object, target.provider);
}

/** What a whole response used. */
export function responseUsage(json: MessageJson, object: JsonObject, provider: ProviderEntry): UsageReport {
  const counts = usageIn(object);
  const searches = new ResponseSearches();
  searches.push(object);
  return withSearches(counts && readUsage(json, counts, provider.reasoning), searches.count);
}
