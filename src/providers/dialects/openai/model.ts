// One model (OpenAI API reference, "Models"): GET /models/{model}.
import {
  type GetModelRequest,
  type Model,
  ModelSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { MessageJson, Operation, TranslationContext } from '../../dialect.ts';
import { modelPath } from '../../model-path.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON; the answer names its provider. */
export function model(json: MessageJson): Operation<GetModelRequest, Model> {
  return {
    request: (request) => getCall(`/models/${modelPath(request.model)}`),
    response(body, _request, context) {
      const answer = named(json.decode(ModelSchema, readObject(body, context)), context);
      return { answer, usage: undefined, model: answer.id || undefined };
    },
  };
}

/** The model with its provider's identifier in this gateway, and what OpenAI's shape never leaves out. */
export function named(answer: Model, { target }: TranslationContext): Model {
  answer.provider = target.provider.id;
  if (answer.object === '') answer.object = 'model';
  return answer;
}
