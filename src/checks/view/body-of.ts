// From a JSON body to what the checks see of it, by the API that it belongs to.
import { chatRequest, chatResponse } from './chat.ts';
import { messagesRequest, messagesResponse } from './messages.ts';
import { completionResponse, promptRequest } from './prompts.ts';
import { responsesRequest, responsesResponse } from './responses.ts';
import type { Api, Body, JsonObject } from './traffic.ts';

/** A request's body with its texts found. */
export function requestBody(api: Api, json: JsonObject): Body {
  switch (api) {
    case 'chat':
      return chatRequest(json);
    case 'responses':
      return responsesRequest(json);
    case 'messages':
      return messagesRequest(json);
    default:
      return promptRequest(json);
  }
}

/** An answer's body with its texts found. */
export function responseBody(api: Api, json: JsonObject): Body {
  switch (api) {
    case 'chat':
      return chatResponse(json);
    case 'responses':
      return responsesResponse(json);
    case 'messages':
      return messagesResponse(json);
    default:
      return completionResponse(json);
  }
}
