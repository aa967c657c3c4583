// Embeddings (Vertex AI, "Get text embeddings"): POST …/publishers/google/models/{model}:predict, one instance a text.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
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
import { postCall } from '../gemini/request.ts';
import { readObjects } from '../gemini/response.ts';
import { servedModel } from './served-model.ts';

/** Members of an instance under the names that callers give them; all others are parameters. */
const OF_INSTANCE: Readonly<Record<string, string>> = Object.freeze({
  task_type: 'task_type',
  taskType: 'task_type',
  title: 'title',
});

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request(request) {
      const { wire, model, path } = servedModel(request.model ?? '');
      if (wire !== 'gemini') throw invalidField('model', "must be one of Google's models for embeddings");
      const instance: JsonObject = {};
      const parameters: JsonObject = {};
      if (request.dimensions !== undefined) parameters.outputDimensionality = request.dimensions;
      for (const [name, value] of Object.entries(given(request.extra) ?? {})) {
        const ofInstance = Object.hasOwn(OF_INSTANCE, name) ? OF_INSTANCE[name] : undefined;
        if (ofInstance === undefined) parameters[camelCased(name)] = value;
        else instance[ofInstance] = value;
      }
      const instances = textsOf(request).map((content) => ({ content, ...instance }));
      return postCall(`${path}/${modelPath(model)}:predict`, {
        instances,
        ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
      });
    },
    response(body, request, context) {
      const predictions = readObjects(body, context)
        .flatMap((object) => arrayOf(object.predictions))
        .map((one) => objectOf(isObject(one) ? one.embeddings : undefined));
      if (predictions.length === 0 || predictions.includes(undefined))
        throw fail('upstream_garbage', 'the provider answered without embeddings', {
          provider: context.target.provider.id,
        });
      const counts = tokensIn(predictions.map((one) => objectOf(one?.statistics)?.token_count));
      const usage = counts && readUsage(json, counts);
      const answer = create(EmbeddingsSchema, {
        object: 'list',
        model: servedModel(request.model ?? '').model,
        data: predictions.map((one, index) => ({
          object: 'embedding',
          index,
          embedding: { kind: floats(arrayOf(one?.values), request.encodingFormat) },
        })),
        ...(usage === undefined || usage === 'refused' ? {} : { usage }),
      });
      return { answer, usage, model: undefined };
    },
  };
}

/** Each text has its own count, which some models give as a fraction with only zeros after the point. */
function tokensIn(counts: readonly (JsonValue | undefined)[]): JsonObject | undefined {
  const given = counts.filter((count) => typeof count === 'number');
  if (given.length === 0) return undefined;
  return { total_tokens: given.reduce((sum, count) => sum + count, 0) };
}

function textsOf({ input }: CreateEmbeddingsRequest): readonly string[] {
  const kind = input?.kind;
  if (kind?.case === 'text') return [kind.value];
  if (kind?.case === 'texts') return kind.value.values;
  throw invalidField('input', 'must be text with this provider, not tokens');
}

function camelCased(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
