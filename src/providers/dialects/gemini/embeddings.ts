// Embeddings (Gemini API reference, "batchEmbedContents"): POST /models/{model}:batchEmbedContents, one request a text.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type CreateEmbeddingsRequest,
  type Embeddings,
  EmbeddingsSchema,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, given, isObject, objectOf } from '../../json-object.ts';
import { modelPath } from '../../model-path.ts';
import { readUsage } from '../../usage/tap.ts';
import { floats } from '../../vector.ts';
import { modelName, postCall } from './request.ts';
import { readObjects } from './response.ts';

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request(request) {
      const model = modelName(request.model ?? '');
      const { extra: _, ...own } = { extra: undefined, ...camelCased(given(request.extra) ?? {}) };
      const one = {
        model: `models/${model}`,
        ...(request.dimensions === undefined ? {} : { outputDimensionality: request.dimensions }),
        ...own,
      };
      const requests = textsOf(request).map((text) => ({ ...one, content: { parts: [{ text }] } }));
      return postCall(`/models/${modelPath(model)}:batchEmbedContents`, { requests });
    },
    response(body, request, context) {
      const objects = readObjects(body, context);
      const vectors = objects.flatMap(({ embeddings: list, embedding }) =>
        [...arrayOf(list), ...(isObject(embedding) ? [embedding] : [])].map((one) =>
          arrayOf(objectOf(one)?.values),
        ),
      );
      if (vectors.length === 0)
        throw fail('upstream_garbage', 'the provider answered without embeddings', {
          provider: context.target.provider.id,
        });
      const counts = objects
        .map(({ usageMetadata }) => objectOf(usageMetadata))
        .find((found) => found !== undefined);
      const usage = counts && readUsage(json, counts);
      const answer = create(EmbeddingsSchema, {
        object: 'list',
        model: modelName(request.model ?? ''),
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

function textsOf({ input }: CreateEmbeddingsRequest): readonly string[] {
  const kind = input?.kind;
  if (kind?.case === 'text') return [kind.value];
  if (kind?.case === 'texts') return kind.value.values;
  throw invalidField('input', 'must be text with this provider, not tokens');
}

function camelCased(json: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
