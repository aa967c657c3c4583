// Embeddings over InvokeModel (Bedrock, "Titan Text Embeddings", "Cohere Embed"): each maker's own body.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type CreateEmbeddingsRequest,
  type Embeddings,
  EmbeddingsSchema,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, given, isObject, objectOf } from '../../json-object.ts';
import { textsOf } from '../../texts-of.ts';
import { readUsage } from '../../usage/tap.ts';
import { floats } from '../../vector.ts';
import { modelSegment } from './model-id.ts';
import { readObject } from './response.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request(request) {
      const body = JSON.stringify(bodyOf(request));
      const path = `/model/${modelSegment(request.model ?? '')}/invoke`;
      return { method: 'POST', path, headers: JSON_HEADERS, body };
    },
    response(body, request, context) {
      const object = readObject(body, context);
      const vectors = vectorsIn(object);
      if (vectors.length === 0)
        throw fail('upstream_garbage', 'the provider answered without embeddings', {
          provider: context.target.provider.id,
        });
      const count = object.inputTextTokenCount;
      const usage = count === undefined ? undefined : readUsage(json, { total_tokens: count });
      const answer = create(EmbeddingsSchema, {
        object: 'list',
        model: request.model ?? '',
        data: vectors.map((values, index) => ({
          object: 'embedding',
          index,
          embedding: { kind: floats(values, request.encodingFormat) },
        })),
        ...(usage === undefined || usage === 'refused' ? {} : { usage }),
      });
      return { answer, usage, model: undefined };
    },
  };
}

function bodyOf(request: CreateEmbeddingsRequest): JsonObject {
  const { model = '', dimensions } = request;
  const texts = textsOf(request);
  const own = given(request.extra) ?? {};
  if (/(?:^|[./])cohere\.embed/.test(model))
    return {
      texts: [...texts],
      input_type: 'search_document',
      ...(dimensions === undefined ? {} : { output_dimension: dimensions }),
      ...own,
    };
  if (!/(?:^|[./])amazon\.titan-embed/.test(model))
    throw invalidField(
      'model',
      "must be one of Amazon's Titan or Cohere's Embed for embeddings with this provider",
    );
  const [text = ''] = texts;
  if (texts.length !== 1) throw invalidField('input', 'must be one text with this model');
  return { inputText: text, ...(dimensions === undefined ? {} : { dimensions }), ...own };
}

/** Titan answers one vector, Cohere a list of them, or lists by type. */
function vectorsIn({ embedding, embeddings: list }: JsonObject): readonly (readonly JsonValue[])[] {
  if (Array.isArray(embedding)) return [embedding];
  const several = isObject(list) ? arrayOf(list.float) : arrayOf(list);
  return several.map((one) => (isObject(one) ? arrayOf(objectOf(one)?.embedding) : arrayOf(one)));
}
