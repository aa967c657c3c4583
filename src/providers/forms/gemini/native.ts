// generateContent with those who have it: the request nearly as it came, the answer and its pieces unchanged.
import type { DescMessage, JsonObject, Message, MessageShape } from '@bufbuild/protobuf';
import {
  type BatchEmbedContentsRequest,
  BatchEmbedContentsRequestSchema,
  type ContentEmbedding,
  ContentEmbeddingSchema,
  type ContentEmbeddings,
  ContentEmbeddingsSchema,
  type ContentTokens,
  ContentTokensSchema,
  type CountContentTokensRequest,
  CountContentTokensRequestSchema,
  type EmbedContentRequest,
  EmbedContentRequestSchema,
  type GenerateContentRequest,
  GenerateContentRequestSchema,
  type GenerateContentResponse,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type {
  MessageJson,
  Operation,
  Outbound,
  StreamingOperation,
  TranslationContext,
} from '../../dialect.ts';
import { modelName } from '../../dialects/gemini/request.ts';
import { readObjects } from '../../dialects/gemini/response.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { modelPath } from '../../model-path.ts';
import { GeminiSearches, withSearches } from '../../usage/searches.ts';
import { readUsage } from '../../usage/tap.ts';
import { written } from './answer.ts';
import { GeminiFold } from './fold.ts';
import { withoutKept } from './kept.ts';
import { NativeResponses } from './native-responses.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);

/** Where a model's methods are, e.g. "/models/gemini-2.5-pro". */
export type ModelAt = (model: string) => string;

/** Of the Gemini API. */
export const AT_MODELS: ModelAt = (model) => `/models/${modelPath(modelName(model))}`;

/** The operation over the given JSON. */
export function nativeGenerate(
  json: MessageJson,
  at: ModelAt = AT_MODELS,
): StreamingOperation<GenerateContentRequest, GenerateContentResponse, GenerateContentResponse> {
  const call = (request: GenerateContentRequest, verb: string, headers: readonly string[]): Outbound => {
    const body = withoutKept(bodyOf(json, GenerateContentRequestSchema, request));
    return {
      method: 'POST',
      path: `${at(request.model ?? '')}:${verb}`,
      headers,
      body: jsonBody(body),
    };
  };
  return {
    request: (request) => call(request, 'generateContent', JSON_HEADERS),
    streamRequest: (request) => call(request, 'streamGenerateContent?alt=sse', SSE_HEADERS),
    response: (body, _request, context) => readResponse(json, body, context),
    stream: (_request, context) => new NativeResponses(json, context.target.provider.id),
    wholeAsChunks: (answer) => [answer],
  };
}

/** The counting of contents' tokens. */
export function nativeCount(
  json: MessageJson,
  at: ModelAt = AT_MODELS,
): Operation<CountContentTokensRequest, ContentTokens> {
  return {
    request(request) {
      const body = bodyOf(json, CountContentTokensRequestSchema, request);
      const { generateContentRequest: whole } = body;
      const path = `${at(request.model ?? '')}:countTokens`;
      if (!isObject(whole))
        return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(withoutKept(body)) };
      const named = {
        ...body,
        generateContentRequest: { ...withoutKept(whole), model: nameOf(request.model) },
      };
      return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(named) };
    },
    response: (body, _request, context) => readWhole(json, ContentTokensSchema, body, context),
  };
}

/** The vector of one content. */
export function nativeEmbed(json: MessageJson): Operation<EmbedContentRequest, ContentEmbedding> {
  return {
    request(request) {
      const body = { model: nameOf(request.model), ...bodyOf(json, EmbedContentRequestSchema, request) };
      const path = `${AT_MODELS(request.model ?? '')}:embedContent`;
      return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(body) };
    },
    response: (body, _request, context) => readWhole(json, ContentEmbeddingSchema, body, context),
  };
}

/** The vectors of several contents, all for one model. */
export function nativeBatchEmbed(json: MessageJson): Operation<BatchEmbedContentsRequest, ContentEmbeddings> {
  return {
    request(request) {
      const { requests, ...rest } = bodyOf(json, BatchEmbedContentsRequestSchema, request);
      const each = (requests as JsonObject[]).map((one) => ({ ...one, model: nameOf(request.model) }));
      const path = `${AT_MODELS(request.model ?? '')}:batchEmbedContents`;
      return {
        method: 'POST',
        path,
        headers: JSON_HEADERS,
        body: jsonBody({ ...rest, requests: each }),
      };
    },
    response: (body, _request, context) => readWhole(json, ContentEmbeddingsSchema, body, context),
  };
}

function nameOf(model: string | undefined): string {
  return `models/${modelName(model ?? '')}`;
}

/** The request's members; the model stands in the path. */
function bodyOf(json: MessageJson, schema: DescMessage, request: Message): JsonObject {
  const { model: _, ...body } = json.encode(schema, request) as JsonObject;
  return body;
}

function readWhole<D extends DescMessage>(
  json: MessageJson,
  schema: D,
  body: Uint8Array,
  context: TranslationContext,
) {
  const [object = {}] = readObjects(body, context);
  const answer = attachRawJson(
    lazyMessage(schema, () => json.decode(schema, object)) as MessageShape<D>,
    JSON.stringify(object),
  );
  const counts = objectOf(object.usageMetadata);
  return { answer, usage: counts && readUsage(json, counts), model: undefined };
}

/** One response, or the list that a stream without `alt=sse` is. */
function readResponse(json: MessageJson, body: Uint8Array, context: TranslationContext) {
  const objects = readObjects(body, context);
  const [only] = objects;
  let whole = only!;
  if (objects.length > 1) {
    const fold = new GeminiFold();
    for (const object of objects) fold.push(object);
    whole = fold.response();
  }
  let counts: JsonObject | undefined;
  const searches = new GeminiSearches();
  for (const object of objects) {
    searches.push(object);
    if (isObject(object.usageMetadata)) counts = mergeUsage(counts, object.usageMetadata);
  }
  const model = textOf(whole.modelVersion);
  const usage = withSearches(counts && readUsage(json, counts), searches.count(model));
  return { answer: written(json, whole), usage, model };
}
