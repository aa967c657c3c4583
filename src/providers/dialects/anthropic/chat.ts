// Chat completions over the Messages API: POST /messages.
import type { MessageJson } from '../../dialect.ts';
import { type Chat, translatedChat, wantsUsage } from '../translated-chat.ts';
import { LEFT_OUT } from './refusals.ts';
import { messagesCall } from './request.ts';
import { readMessage } from './response.ts';
import { AnthropicStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  return translatedChat({
    call: (request, { target }, stream) => messagesCall(request, target, stream),
    response: (body, _request, context) => readMessage(json, body, context),
    stream: (request, context) => new AnthropicStream(json, context, wantsUsage(request)),
    leftOut: LEFT_OUT,
    carried: ['strict'],
  });
}
