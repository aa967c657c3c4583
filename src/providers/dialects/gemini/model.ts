// One model (Gemini API reference, "models.get"): GET /models/{model}.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type Model,
  ModelSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { Operation, TranslationContext } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { modelPath } from '../../model-path.ts';
import { getCall, modelName } from './request.ts';
import { readObjects } from './response.ts';

/** The operation. */
export function model(): Operation<GetModelRequest, Model> {
  return {
    request: (request) => getCall(`/models/${modelPath(modelName(request.model))}`),
    response(body, _request, context) {
      const answer = readModel(readObjects(body, context)[0] as JsonObject, context);
      return { answer, usage: undefined, model: answer.id || undefined };
    },
  };
}

/** A model in OpenAI's shape; not strict: with the provider's own members (displayName, inputTokenLimit, ...). */
export function readModel({ name, ...own }: JsonObject, { target }: TranslationContext): Model {
  return create(ModelSchema, {
    id: modelName(textOf(name) ?? ''),
    object: 'model',
    created: 0n,
    ownedBy: 'google',
    provider: target.provider.id,
    ...(target.strict || Object.keys(own).length === 0 ? {} : { extra: own }),
  });
}
