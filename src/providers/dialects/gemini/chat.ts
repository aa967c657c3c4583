// Chat completions over generateContent and streamGenerateContent.
import type { MessageJson } from '../../dialect.ts';
import { type Chat, translatedChat, wantsUsage } from '../translated-chat.ts';
import { LEFT_OUT } from './refusals.ts';
import { generateCall } from './request.ts';
import { readCompletion } from './response.ts';
import { GeminiStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  return translatedChat({
    call: (request, _context, stream) => generateCall(request, stream),
    response: (body, _request, context) => readCompletion(json, body, context),
    stream: (request, context) => new GeminiStream(json, context, wantsUsage(request)),
    leftOut: LEFT_OUT,
    carried: ['images'],
  });
}
