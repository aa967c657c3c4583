// The list of models (Cohere API reference, "List Models"): GET /v1/models.
import { create } from '@bufbuild/protobuf';
import {
  type ListModelsRequest,
  type ModelList,
  ModelListSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { Operation } from '../../dialect.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';
import { readModel } from './model.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation; `after` is the page token of the answer before, given as `next_page_token`. */
export function models(): Operation<ListModelsRequest, ModelList> {
  return {
    request(request) {
      const query = new URLSearchParams();
      if (request.after !== undefined) query.set('page_token', request.after);
      if (request.limit !== undefined) query.set('page_size', String(request.limit));
      return getCall(query.size === 0 ? '/v1/models' : `/v1/models?${query}`);
    },
    response(body, _request, context) {
      const { models: list, next_page_token: token } = readObject(body, context);
      const next = textOf(token);
      const answer = create(ModelListSchema, {
        object: 'list',
        data: arrayOf(list)
          .filter(isObject)
          .map((model) => readModel(model, context)),
        extra: next === undefined ? { has_more: false } : { has_more: true, next_page_token: next },
      });
      return { answer, usage: undefined, model: undefined };
    },
  };
}
