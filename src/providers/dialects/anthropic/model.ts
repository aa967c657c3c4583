// One model (Anthropic API reference, "Get a Model"): GET /models/{model}.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type Model,
  ModelSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { MessageJson, Operation, TranslationContext } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { modelPath } from '../../model-path.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation. */
export function model(_json: MessageJson): Operation<GetModelRequest, Model> {
  return {
    request: (request) => getCall(`/models/${modelPath(request.model)}`),
    response(body, _request, context) {
      const answer = readModel(readObject(body, context), context);
      return { answer, usage: undefined, model: answer.id || undefined };
    },
  };
}

/** A model in OpenAI's shape; not strict: with the provider's own members (display_name, ...). */
export function readModel(
  { id, type: _type, created_at: createdAt, ...own }: JsonObject,
  { target }: TranslationContext,
): Model {
  const created = Date.parse(textOf(createdAt) ?? '');
  return create(ModelSchema, {
    id: textOf(id) ?? '',
    object: 'model',
    created: Number.isNaN(created) ? 0n : BigInt(Math.floor(created / 1000)),
    ownedBy: 'anthropic',
    provider: target.provider.id,
    ...(target.strict || Object.keys(own).length === 0 ? {} : { extra: own }),
  });
}
