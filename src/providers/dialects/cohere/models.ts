// The list of models (Cohere API reference, "List Models"): GET /v1/models.
import { create } from '@bufbuild/protobuf';
import {
  type ListModelsRequest,
  type ModelList,
  ModelListSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { Operation } from '../../dialect.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';
import { PAGE_SIZE, tokenOf } from '../../page-token.ts';
import { readModel } from './model.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation; `next_page_token` names the next page, and is empty with the last one. */
export function models(): Operation<ListModelsRequest, ModelList> {
  return {
    request(request) {
      const query = new URLSearchParams();
      const token = tokenOf(request.after);
      if (token !== undefined) query.set('page_token', token);
      query.set('page_size', String(PAGE_SIZE));
      return getCall(`/v1/models?${query}`);
    },
    response(body, _request, context) {
      const { models: list, next_page_token: token } = readObject(body, context);
      const next = textOf(token);
      const answer = create(ModelListSchema, {
        object: 'list',
        data: arrayOf(list)
          .filter(isObject)
          .map((model) => readModel(model, context)),
        extra: { next_page_token: next ?? '' },
      });
      return { answer, usage: undefined, model: undefined };
    },
  };
}
