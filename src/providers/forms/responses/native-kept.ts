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
  type ResponseEvent,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, Operation, Outbound, StreamingOperation } from '../../dialect.ts';
import { readObject } from '../../dialects/openai/response.ts';
import { pathSegment } from '../../path-segment.ts';
import { eventsOf } from './events-of.ts';
import { readResponse } from './native.ts';
import { NativeEvents } from './native-events.ts';

const HEADERS = Object.freeze(['accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['accept', 'text/event-stream']);

function kept(
  method: Outbound['method'],
  id: string,
  more = '',
  query: URLSearchParams = new URLSearchParams(),
): Outbound {
  const path = `/responses/${pathSegment(id)}${more}${query.size === 0 ? '' : `?${query}`}`;
  return { method, path, headers: HEADERS, body: undefined };
}

/** GET /responses/{id}, whole or its events again. Its usage was booked when it was made. */
export function nativeGet(
  json: MessageJson,
): StreamingOperation<GetResponseRequest, ModelResponse, ResponseEvent> {
  return {
    request: ({ responseId, include }) => kept('GET', responseId, '', included(include)),
    streamRequest({ responseId, include, startingAfter, includeObfuscation }) {
      const query = included(include);
      query.set('stream', 'true');
      if (startingAfter !== undefined) query.set('starting_after', String(startingAfter));
      if (includeObfuscation !== undefined) query.set('include_obfuscation', String(includeObfuscation));
      return { ...kept('GET', responseId, '', query), headers: SSE_HEADERS };
    },
    response: (body, _request, context) => ({ ...readResponse(json, body, context), usage: undefined }),
    stream: (_request, { target: { provider } }) => new KeptEvents(json, provider, true),
    wholeAsChunks: (answer) => eventsOf(json, answer),
  };
}

/** Events of an answer that is paid for. After its last one there are none. */
class KeptEvents extends NativeEvents {
  #some = false;

  override push(event: SseEvent): readonly ResponseEvent[] {
    this.#some = true;
    return super.push(event);
  }

  override end(): readonly ResponseEvent[] {
    return this.#some ? super.end() : [];
  }

  override usage(): undefined {
    return undefined;
  }
}

function included(include: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const one of include) query.append('include[]', one);
  return query;
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
