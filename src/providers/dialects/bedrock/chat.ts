// Chat completions over Converse and ConverseStream.
import type { MessageJson } from '../../dialect.ts';
import { type Chat, translatedChat } from '../translated-chat.ts';
import { LEFT_OUT } from './refusals.ts';
import { converseCall } from './request.ts';
import { readCompletion } from './response.ts';
import { BedrockStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  return translatedChat({
    call: (request, _context, stream) => converseCall(request, stream),
    response: (body, request, context) => readCompletion(json, body, request, context),
    stream: (request, context) => new BedrockStream(json, context, request),
    leftOut: LEFT_OUT,
    carried: ['strict'],
  });
}
