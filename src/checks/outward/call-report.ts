// A call as webhooks and logs receive it (data-plane facts, 5.4). The caller's headers are no part of it.
import type { CheckContext } from '../contract/check.ts';
import { wholeText } from '../view/examined.ts';
import type { JsonObject } from '../view/traffic.ts';

/** The JSON that a webhook is sent. */
export function callReport({ event, traffic, transformed }: CheckContext): JsonObject {
  const { request, response, requestType, provider, metadata, streaming } = traffic;
  return {
    request: {
      json: request.json,
      text: wholeText(request),
      isStreamingRequest: streaming,
      isTransformed: transformed.request,
    },
    response: {
      json: response?.json ?? null,
      text: response === undefined ? '' : wholeText(response),
      statusCode: response?.status ?? null,
      isTransformed: transformed.response,
    },
    provider: provider ?? null,
    requestType,
    metadata,
    eventType: event === 'input' ? 'beforeRequestHook' : 'afterRequestHook',
  };
}
