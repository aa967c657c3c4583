// The list of models (Gemini API reference, "models.list"): GET /models.
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
import { readObjects } from './response.ts';

/** The operation; `after` is the page token of the answer before, given as `next_page_token`. */
export function models(): Operation<ListModelsRequest, ModelList> {
  return {
    request(request) {
      const query = new URLSearchParams();
      if (request.after !== undefined) query.set('pageToken', request.after);
      if (request.limit !== undefined) query.set('pageSize', String(request.limit));
      return getCall(query.size === 0 ? '/models' : `/models?${query}`);
    },
    response(body, _request, context) {
      const objects = readObjects(body, context);
      const next = textOf(objects.at(-1)?.nextPageToken);
      const answer = create(ModelListSchema, {
        object: 'list',
        data: objects
          .flatMap(({ models: list }) => arrayOf(list).filter(isObject))
          .map((model) => readModel(model, context)),
        extra: next === undefined ? { has_more: false } : { has_more: true, next_page_token: next },
      });
      return { answer, usage: undefined, model: undefined };
    },
  };
}
