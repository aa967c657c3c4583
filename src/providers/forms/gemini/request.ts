// A generateContent request in the chat form. What the wire cannot carry is left out and named.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Carries } from '../ability.ts';
import type { AsChat } from '../form.ts';
import { Lost } from '../messages/lost.ts';
import { conversation } from './conversation.ts';
import { generationMembers } from './generation.ts';
import { toolMembers } from './tools.ts';

const READ: ReadonlySet<string> = new Set([
  ...['model', 'contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'],
]);

/** @param body the request's JSON; not changed */
export function chatRequest(body: JsonObject, carries: Carries, stream: boolean): AsChat {
  const lost = new Lost();
  const chat: JsonObject = {
    model: body.model ?? '',
    messages: conversation(body, carries, lost),
    ...toolMembers(body, lost),
    ...generationMembers(body, carries, lost),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  for (const [name, value] of Object.entries(body)) if (!READ.has(name) && value !== null) lost.add(name);
  return { chat, lost: lost.names };
}
