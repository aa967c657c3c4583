// From a JSON body to what the checks see of it, by the API that it belongs to.

import { answerKind, type InvokeKind, requestKind } from '../../providers/forms/bedrock/invoke-kind.ts';
import { chatRequest, chatResponse } from './chat.ts';
import { converseRequest, converseResponse } from './converse.ts';
import { geminiRequest, geminiResponse } from './gemini.ts';
import { messagesRequest, messagesResponse } from './messages.ts';
import {
  completionResponse,
  mediaRequest,
  mediaResponse,
  ownRequest,
  ownResponse,
  promptRequest,
} from './prompts.ts';
import { responsesRequest, responsesResponse } from './responses.ts';
import { toolResult, toolsRequest } from './tools.ts';
import type { Api, Body, JsonObject } from './traffic.ts';

/** Bodies of InvokeModel by the forms that they have. */
const INVOKED: Readonly<Record<InvokeKind, Api>> = {
  messages: 'messages',
  nova: 'converse',
  chat: 'chat',
  own: 'completions',
};

/** A request's body with its texts found. */
export function requestBody(api: Api, json: JsonObject): Body {
  switch (api) {
    case 'chat':
      return chatRequest(json);
    case 'responses':
      return responsesRequest(json);
    case 'messages':
      return messagesRequest(json);
    case 'gemini':
      return geminiRequest(json);
    case 'converse':
      return converseRequest(json);
    case 'images':
    case 'speech':
    case 'transcripts':
      return mediaRequest(json);
    case 'tools':
      return toolsRequest(json);
    case 'invoke':
      return requestKind(json) === 'own' ? ownRequest(json) : requestBody(INVOKED[requestKind(json)], json);
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
    case 'gemini':
      return geminiResponse(json);
    case 'converse':
      return converseResponse(json);
    case 'images':
    case 'speech':
    case 'transcripts':
    case 'ocr':
      return mediaResponse(json);
    case 'tools':
      return toolResult(json);
    case 'invoke':
      return answerKind(json) === 'own' ? ownResponse(json) : responseBody(INVOKED[answerKind(json)], json);
    default:
      return completionResponse(json);
  }
}
