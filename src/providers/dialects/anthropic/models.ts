// The list of models (Anthropic API reference, "List Models"): GET /models.
import { create } from '@bufbuild/protobuf';
import {
  type ListModelsRequest,
  type ModelList,
  ModelListSchema,
} from '../../../../gen/gateway/inference/v2/models_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, isObject } from '../../json-object.ts';
import { readModel } from './model.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation; the page's members (`has_more`, `first_id`, `last_id`) are kept. */
export function models(_json: MessageJson): Operation<ListModelsRequest, ModelList> {
  return {
    request(request) {
      const query = new URLSearchParams();
      if (request.after !== undefined) query.set('after_id', request.after);
      if (request.limit !== undefined) query.set('limit', String(request.limit));
      return getCall(query.size === 0 ? '/models' : `/models?${query}`);
    },
    response(body, _request, context) {
      const { data, ...page } = readObject(body, context);
      const answer = create(ModelListSchema, {
        object: 'list',
        data: arrayOf(data)
          .filter(isObject)
          .map((model) => readModel(model, context)),
        ...(Object.keys(page).length === 0 ? {} : { extra: page }),
      });
      return { answer, usage: undefined, model: undefined };
    },
  };
}
