// Chat completions over POST /v2/chat.
import type { MessageJson } from '../../dialect.ts';
import { type Chat, translatedChat } from '../translated-chat.ts';
import { LEFT_OUT } from './refusals.ts';
import { chatCall } from './request.ts';
import { readCompletion } from './response.ts';
import { CohereStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  return translatedChat({
    call: (request, _context, stream) => chatCall(request, stream),
    response: (body, request, context) => readCompletion(json, body, context, request.model ?? ''),
    stream: (request, context) => new CohereStream(json, context, request),
    leftOut: LEFT_OUT,
    carried: ['detail', 'strict'],
  });
}
