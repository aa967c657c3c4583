// What other wires prove their thoughts with, kept in the signature of a thinking block until the client sends it back:
// the Messages API has no other member that its clients return untouched.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject, parsedObject } from '../../json-object.ts';

const PREFIX = 'sluice.';

/** Whether a text of a request may hold such a signature. */
export const MARK = `"${PREFIX}`;

/** The signature of a thinking block that another wire made. @param own members to be given back to that wire */
export function keptSignature(own: JsonObject = {}): string {
  if (Object.keys(own).length === 0) return PREFIX;
  return PREFIX + Buffer.from(JSON.stringify(own)).toString('base64url');
}

/** The members of a signature that was made here; undefined for one of Anthropic's own. */
export function keptIn(signature: unknown): JsonObject | undefined {
  if (typeof signature !== 'string' || !signature.startsWith(PREFIX)) return undefined;
  const text = signature.slice(PREFIX.length);
  return text === '' ? {} : (parsedObject(Buffer.from(text, 'base64url').toString('utf8')) ?? {});
}

/** The request's body without thinking that another wire made: Anthropic refuses signatures that are not its own. */
export function withoutKept(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  return {
    ...body,
    messages: messages.flatMap((message) => {
      if (!isObject(message) || !Array.isArray(message.content)) return [message];
      const content = message.content.filter(
        (block) => !(isObject(block) && keptIn(block.signature) !== undefined),
      );
      return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }];
    }),
  };
}
