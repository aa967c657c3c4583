// The list of models (OpenAI API reference, "Models"): GET /models.
import {
  type ListModelsRequest,
  type ModelList,
  ModelListSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { named } from './model.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON; each model of the answer names its provider. */
export function models(json: MessageJson): Operation<ListModelsRequest, ModelList> {
  return {
    request(request) {
      const query = new URLSearchParams();
      if (request.after !== undefined) query.set('after', request.after);
      if (request.limit !== undefined) query.set('limit', String(request.limit));
      return getCall(query.size === 0 ? '/models' : `/models?${query}`);
    },
    response(body, _request, context) {
      const value = parseAnswer(body, context.target.provider.id);
      // Together answers with the bare array.
      const list = Array.isArray(value) ? { data: value.filter(isObject) } : readObject(body, context);
      const answer = json.decode(ModelListSchema, list);
      if (answer.object === '') answer.object = 'list';
      for (const model of answer.data) named(model, context);
      return { answer, usage: undefined, model: undefined };
    },
  };
}
