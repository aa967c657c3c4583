// One model (Cohere API reference, "Get a Model"): GET /v1/models/{model}.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type Model,
  ModelSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { Operation, TranslationContext } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { modelPath } from '../../model-path.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation. */
export function model(): Operation<GetModelRequest, Model> {
  return {
    request: (request) => getCall(`/v1/models/${modelPath(request.model)}`),
    response(body, _request, context) {
      const answer = readModel(readObject(body, context), context);
      return { answer, usage: undefined, model: answer.id || undefined };
    },
  };
}

/** A model in OpenAI's shape; not strict: with the provider's own members (endpoints, context_length, ...). */
export function readModel({ name, ...own }: JsonObject, { target }: TranslationContext): Model {
  return create(ModelSchema, {
    id: textOf(name) ?? '',
    object: 'model',
    created: 0n,
    ownedBy: 'cohere',
    provider: target.provider.id,
    ...(target.strict || Object.keys(own).length === 0 ? {} : { extra: own }),
  });
}
