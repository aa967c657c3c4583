// A conversation as Gemini has it: the system's text apart, turns of user and model, calls and their results as parts.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatMessage, ToolCall } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { InnerJson } from '../../inner-json.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { contentParts, media } from './content-parts.ts';
import { takesLevels } from './thinking.ts';

/** What `messages` becomes. */
export interface Conversation {
  /** `{parts}`; undefined without system messages. */
  readonly system: JsonObject | undefined;
  readonly contents: JsonObject[];
}

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

/**
 * Gemini 3 refuses calls of the current turn without the signature of the thought that led to them. Calls that another
 * model made have none; this text replaces it (Gemini API, "Thought signatures", for histories of other models).
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** @throws GatewayError `validation_failed` naming the message that cannot be expressed. */
export function conversation(messages: readonly ChatMessage[], model: string): Conversation {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const names = new Map<string, string>();
  const signed = takesLevels({ model });
  const inner = new InnerJson();
  messages.forEach((message, i) => {
    const path = `messages[${i}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...textParts(message, path));
        break;
      case 'user':
        append(turns, 'user', contentParts(message.content, `${path}.content`));
        break;
      case 'assistant':
        append(turns, 'model', modelParts(message, path, names, signed, inner));
        break;
      case 'tool':
        append(turns, 'user', [functionResponse(message, path, names, inner)]);
        break;
      default:
        throw invalidField(
          `${path}.role`,
          `"${message.role.slice(0, 64)}" is not supported by this provider`,
        );
    }
  });
  return {
    system: system.length === 0 ? undefined : { parts: system },
    contents: turns.map(({ role, parts }) => ({ role, parts })),
  };
}

/** Turns alternate: a message in the same role joins the turn before it. */
function append(turns: Turn[], role: Turn['role'], parts: JsonObject[]): void {
  if (parts.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else turns.push({ role, parts });
}

function textParts(message: ChatMessage, path: string): JsonObject[] {
  const parts = contentParts(message.content, `${path}.content`);
  const odd = parts.findIndex((part) => part.text === undefined);
  if (odd !== -1) throw invalidField(`${path}.content[${odd}].type`, 'must be text in a system message');
  return parts;
}

function modelParts(
  message: ChatMessage,
  path: string,
  names: Map<string, string>,
  signed: boolean,
  inner: InnerJson,
): JsonObject[] {
  if (message.functionCall) throw invalidField(`${path}.function_call`, 'use tool_calls instead');
  const parts = contentParts(message.content, `${path}.content`);
  if (parts.length === 0 && message.refusal) parts.push({ text: message.refusal });
  const signature = signatureOf(message.extra);
  const lastText = parts.at(-1);
  if (signature !== undefined && lastText !== undefined) lastText.thoughtSignature = signature;
  parts.push(...madeImages(message.extra, path));
  message.toolCalls.forEach((call, i) => {
    const part = functionCall(call, `${path}.tool_calls[${i}]`, inner);
    const own = signatureOf(call.extra) ?? signatureOf(call.function?.extra);
    if (own !== undefined) part.thoughtSignature = own;
    // Of parallel calls only the first one carries a signature.
    else if (signed && i === 0) part.thoughtSignature = NO_SIGNATURE;
    if (call.id !== undefined) names.set(call.id, call.function?.name ?? '');
    parts.push(part);
  });
  return parts;
}

/** Images that the model made, as its answers carry them (`images`), with their signatures. */
function madeImages(extra: JsonObject | undefined, path: string): JsonObject[] {
  return arrayOf(extra?.images).flatMap((image, i) => {
    if (!isObject(image)) return [];
    const url = textOf(objectOf(image.image_url)?.url) ?? '';
    const signature = signatureOf(image);
    const part = media(url, undefined, `${path}.images[${i}].image_url.url`);
    return [signature === undefined ? part : { ...part, thoughtSignature: signature }];
  });
}

/** Google's own OpenAI-compatible API carries it as `extra_content.google.thought_signature`. */
function signatureOf(extra: JsonObject | undefined): string | undefined {
  return textOf(objectOf(objectOf(extra?.extra_content)?.google)?.thought_signature);
}

function functionCall(call: ToolCall, path: string, inner: InnerJson): JsonObject {
  if (call.function === undefined) throw invalidField(`${path}.function`, 'is required');
  const args = inner.arguments(call.function.arguments ?? '', `${path}.function.arguments`);
  return { functionCall: { ...idOf(call.id), name: call.function.name ?? '', args } };
}

/** Ids that this gateway made for calls without one are not Gemini's, and are not sent. */
function idOf(id: string | undefined): { id?: string } {
  return id === undefined || id === '' || id.startsWith('call_') ? {} : { id };
}

function functionResponse(
  message: ChatMessage,
  path: string,
  names: ReadonlyMap<string, string>,
  inner: InnerJson,
): JsonObject {
  const id = message.toolCallId;
  if (!id) throw invalidField(`${path}.tool_call_id`, 'is required');
  const name = names.get(id) ?? message.name;
  if (!name) throw invalidField(`${path}.tool_call_id`, 'answers no tool call of the messages before it');
  const parts = contentParts(message.content, `${path}.content`);
  const texts = parts.flatMap((part) => (typeof part.text === 'string' ? [part.text] : []));
  const files = parts.filter((part) => part.text === undefined);
  return {
    functionResponse: {
      ...idOf(id),
      name,
      response: responseOf(texts.join(''), inner),
      ...(files.length === 0 ? {} : { parts: files }),
    },
  };
}

/** An object of JSON as it is; anything else as the `output` that Gemini's documents name. */
function responseOf(text: string, inner: InnerJson): JsonObject {
  const value = inner.value(text);
  return isObject(value) ? value : { output: value === undefined ? text : value };
}
