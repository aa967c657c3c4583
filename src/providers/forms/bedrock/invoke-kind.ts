// Whose form a body of InvokeModel has.
import { isObject } from '../../json-object.ts';

type Json = Readonly<Record<string, unknown>>;

/** Anthropic's Messages, Amazon Nova's, OpenAI's chat, or a model's own that only Bedrock can be asked for. */
export type InvokeKind = 'messages' | 'nova' | 'chat' | 'own';

/** Of a request. */
export function requestKind(body: Json): InvokeKind {
  if (body.anthropic_version !== undefined) return 'messages';
  if (!Array.isArray(body.messages)) return 'own';
  if (body.schemaVersion !== undefined || body.inferenceConfig !== undefined || hasBareBlocks(body.messages))
    return 'nova';
  return 'chat';
}

/** Nova's blocks have no type. */
function hasBareBlocks(messages: readonly unknown[]): boolean {
  return messages.some((message) => {
    if (!isObject(message) || !Array.isArray(message.content)) return false;
    return message.content.some((block) => isObject(block) && block.type === undefined);
  });
}

/** Of an answer. */
export function answerKind(body: Json): InvokeKind {
  if (isObject(body.output) && isObject((body.output as Json).message)) return 'nova';
  if (Array.isArray(body.choices)) return 'chat';
  return body.type === 'message' || Array.isArray(body.content) ? 'messages' : 'own';
}

/** Nova's events by their one member. */
const EVENTS = [
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
];

/** Of a piece of a streamed answer. */
export function pieceKind(event: Json): InvokeKind {
  if (EVENTS.some((name) => event[name] !== undefined)) return 'nova';
  if (Array.isArray(event.choices)) return 'chat';
  return typeof event.type === 'string' ? 'messages' : 'own';
}
