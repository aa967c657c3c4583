// Responses that a provider keeps: read, deleted, stopped, their input listed.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf';
import {
  type CancelResponseRequest,
  type DeletedResponse,
  DeletedResponseSchema,
  type DeleteResponseRequest,
  type GetResponseRequest,
  type InputItemList,
  InputItemListSchema,
  type ListInputItemsRequest,
  type ModelResponse,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, Operation, Outbound } from '../../dialect.ts';
import { readObject } from '../../dialects/openai/response.ts';
import { readResponse } from './native.ts';

const HEADERS = Object.freeze(['accept', 'application/json']);

function kept(
  method: Outbound['method'],
  id: string,
  more = '',
  query: URLSearchParams = new URLSearchParams(),
): Outbound {
  const path = `/responses/${encodeURIComponent(id)}${more}${query.size === 0 ? '' : `?${query}`}`;
  return { method, path, headers: HEADERS, body: undefined };
}

/** GET /responses/{id}. Its usage was booked when it was made. */
export function nativeGet(json: MessageJson): Operation<GetResponseRequest, ModelResponse> {
  return {
    request: ({ responseId, include }) => {
      const query = new URLSearchParams();
      for (const one of include) query.append('include[]', one);
      return kept('GET', responseId, '', query);
    },
    response: (body, _request, context) => ({ ...readResponse(json, body, context), usage: undefined }),
  };
}

/** POST /responses/{id}/cancel. */
export function nativeCancel(json: MessageJson): Operation<CancelResponseRequest, ModelResponse> {
  return {
    request: ({ responseId }) => kept('POST', responseId, '/cancel'),
    response: (body, _request, context) => ({ ...readResponse(json, body, context), usage: undefined }),
  };
}

/** DELETE /responses/{id}. */
export function nativeDelete(json: MessageJson): Operation<DeleteResponseRequest, DeletedResponse> {
  return {
    request: ({ responseId }) => kept('DELETE', responseId),
    response: asIs(json, DeletedResponseSchema),
  };
}

/** GET /responses/{id}/input_items. */
export function nativeInputItems(json: MessageJson): Operation<ListInputItemsRequest, InputItemList> {
  return {
    request({ responseId, after, limit, order, include }) {
      const query = new URLSearchParams();
      if (after !== undefined) query.set('after', after);
      if (limit !== undefined) query.set('limit', String(limit));
      if (order !== undefined) query.set('order', order);
      for (const one of include) query.append('include[]', one);
      return kept('GET', responseId, '/input_items', query);
    },
    response: asIs(json, InputItemListSchema),
  };
}

function asIs<D extends DescMessage>(
  json: MessageJson,
  schema: D,
): Operation<Message, MessageShape<D>>['response'] {
  return (body, _request, context) => {
    const object = readObject(body, context);
    const answer = attachRawJson(
      lazyMessage(schema, () => json.decode(schema, object)),
      body,
    );
    return { answer, usage: undefined, model: undefined };
  };
}
