// What providers of this wire write that OpenAI does not, seen in recorded traffic, put as OpenAI's clients read it.
// Each function changes what it is given and says whether it did: an answer without oddities keeps its own bytes.
//   Mistral (reasoning models)  `content` as an array of parts, with parts of thinking and references
//   several                     `finish_reason: ""`, empty `function_call` and `audio` objects
//   OpenRouter                  the finish twice (see stream.ts)
//   several                     their own finish reasons (finish-words.ts), calls without ids (tool-call-oddities.ts)
//   some fallbacks              tool-call indexes that begin at 1 (see stream.ts)
import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { openAiWord } from '../../finish-words.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mendWholeCalls } from './tool-call-oddities.ts';

/** Mends the choices of a whole answer. @param isChat whether they are messages; else they are texts */
export function mendAnswer(answer: JsonObject, strict: boolean, isChat: boolean): boolean {
  let changed = false;
  const choices = arrayOf(answer.choices);
  if (!choices.every(isObject)) {
    answer.choices = choices.filter(isObject);
    changed = true;
  }
  for (const [place, choice] of arrayOf(answer.choices).entries()) {
    if (!isObject(choice)) continue;
    if (mendShape(choice, place, isChat)) changed = true;
    const message = objectOf(choice.message);
    if (mendFinish(choice, arrayOf(message?.tool_calls).length > 0, strict)) changed = true;
    if (message === undefined) continue;
    if (typeof message.role !== 'string') {
      message.role = 'assistant';
      changed = true;
    }
    if (mendMessage(message, strict)) changed = true;
    if (mendWholeCalls(message, textOf(answer.id) ?? randomUUID())) changed = true;
  }
  return changed;
}

/** A choice has an index, and in a chat a message; a text in its place is that message's. */
function mendShape(choice: JsonObject, place: number, isChat: boolean): boolean {
  let changed = false;
  if (typeof choice.index !== 'number') {
    choice.index = place;
    changed = true;
  }
  if (!isChat || isObject(choice.message)) return changed;
  choice.message = { role: 'assistant', content: typeof choice.text === 'string' ? choice.text : null };
  return true;
}

/** Mends the finish reason of a whole answer's choice. Strict: in OpenAI's words. */
function mendFinish(choice: JsonObject, called: boolean, strict: boolean): boolean {
  const { finish_reason: reason } = choice;
  const isGiven = typeof reason === 'string' && reason !== '' && reason !== 'null';
  if (!isGiven) choice.finish_reason = called ? 'tool_calls' : 'stop';
  else if (strict) choice.finish_reason = openAiWord(reason) ?? reason;
  return choice.finish_reason !== reason;
}

/** Mends a message or a piece of one. Strict: what a model thought is left out; else it is `reasoning_content`. */
export function mendMessage(message: JsonObject, strict: boolean): boolean {
  let changed = false;
  if (Array.isArray(message.content)) {
    const { text, thought, images, others } = readParts(message.content);
    message.content = text;
    if (images.length > 0) message.images = [...arrayOf(message.images), ...images];
    if (!strict && others.length > 0) message.content_blocks = others;
    if (!strict && thought !== '' && typeof message.reasoning_content !== 'string')
      message.reasoning_content = thought;
    changed = true;
  }
  for (const name of ['function_call', 'audio'] as const) {
    if (!isEmpty(message[name])) continue;
    delete message[name];
    changed = true;
  }
  return changed;
}

/** The parts of a content by what they become; `others` are the provider's own, such as Mistral's references. */
interface Parts {
  text: string;
  thought: string;
  readonly images: JsonObject[];
  readonly others: JsonObject[];
}

function readParts(parts: readonly JsonValue[]): Parts {
  const read: Parts = { text: '', thought: '', images: [], others: [] };
  for (const part of parts) {
    if (typeof part === 'string') read.text += part;
    else if (!isObject(part)) continue;
    else if (part.type === 'thinking' || part.type === 'reasoning') read.thought += wordsOf(part);
    else if (typeof part.text === 'string') read.text += part.text;
    else if (part.type === 'image_url') read.images.push(part);
    else if (typeof part.type === 'string' && part.type !== 'text') read.others.push(part);
  }
  return read;
}

/** A part of thinking is a text, or a list of parts of text. */
function wordsOf(part: JsonObject): string {
  const words = part.thinking ?? part.text;
  if (typeof words === 'string') return words;
  return arrayOf(words)
    .map((one) =>
      typeof one === 'string' ? one : isObject(one) && typeof one.text === 'string' ? one.text : '',
    )
    .join('');
}

/** Whether an object is empty: without members, or with only empty texts and nulls. */
function isEmpty(value: JsonValue | undefined): boolean {
  return isObject(value) && Object.values(value).every((member) => member === '' || member === null);
}
