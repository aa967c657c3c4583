// The conversation of a Messages request as messages of chat: the system prompt first, a tool's results as messages of
// their own before what the user says, thinking and calls as members of the assistant's message.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import { detailsFor, keptIn } from './kept.ts';
import type { Lost } from './lost.ts';
import { contentOf, markOf, partOf, partsOf, tellSources } from './parts.ts';

/** To whom the conversation goes. */
export interface AbleProvider {
  readonly carries: Carries;
  readonly provider: string;
}

/** The messages. */
export function conversation(body: JsonObject, to: AbleProvider, lost: Lost): JsonObject[] {
  const { carries } = to;
  const system = systemMessage(body.system, carries, lost);
  const turns = arrayOf(body.messages).flatMap((message, i) => {
    if (!isObject(message)) return [];
    const blocks = blocksOf(message.content);
    if (message.role === 'assistant') return assistantMessage(blocks, to, lost);
    if (message.role === 'system') return systemMessage(message.content, carries, lost);
    return userMessages(blocks, `messages[${i}]`, carries, lost);
  });
  return [...system, ...turns];
}

function blocksOf(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return arrayOf(content).filter(isObject);
}

function systemMessage(system: JsonValue | undefined, carries: Carries, lost: Lost): JsonObject[] {
  const blocks = blocksOf(system);
  if (blocks.length === 0) return [];
  const marked = carries.cacheControl && blocks.some(({ cache_control: mark }) => isObject(mark));
  if (marked) return [{ role: 'system', content: blocks.flatMap((b) => partOf(b, 'system', carries, lost)) }];
  if (blocks.some(({ cache_control: mark }) => isObject(mark))) lost.add('system[*].cache_control');
  const texts = blocks.map(({ text }) => textOf(text)).filter((text) => text !== undefined);
  return [{ role: 'system', content: texts.join('\n\n') }];
}

/** Results come first, as every chat wire wants them: right after the calls. */
function userMessages(blocks: JsonObject[], path: string, carries: Carries, lost: Lost): JsonObject[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const media: JsonObject[] = [];
  const answers = results.map((block) => resultMessage(block, media, carries, lost));
  const said = blocks.filter(({ type }) => type !== 'tool_result');
  const parts = [...media, ...partsOf(said, `${path}.content`, carries, lost)];
  if (parts.length === 0) return answers;
  return [...answers, { role: 'user', content: contentOf(parts) }];
}

/** @param media takes what the wire cannot carry in a result */
function resultMessage(block: JsonObject, media: JsonObject[], carries: Carries, lost: Lost): JsonObject {
  const { tool_use_id: id, content, is_error: failed, cache_control: mark } = block;
  const parts = partsOf(blocksOf(content), 'messages[*].content[*].content', carries, lost);
  const texts = parts.filter(({ type }) => type === 'text');
  const others = parts.filter(({ type }) => type !== 'text');
  const kept = carries.toolMedia ? parts : texts;
  if (!carries.toolMedia && others.length > 0) {
    media.push({ type: 'text', text: `Content of the result of ${textOf(id) ?? 'the tool'}:` }, ...others);
  }
  if (failed === true && !carries.toolErrors) lost.add('messages[*].content[*].is_error');
  return {
    role: 'tool',
    tool_call_id: id ?? '',
    content: resultContent(kept, carries),
    ...(failed === true && carries.toolErrors ? { is_error: true } : {}),
    ...markOf(mark, carries, lost),
  };
}

/** Texts alone as one: not every wire takes parts in a result. */
function resultContent(parts: JsonObject[], carries: Carries): JsonValue {
  if (parts.length === 0) return '';
  if (carries.own || parts.some(({ type }) => type !== 'text')) return contentOf(parts);
  return parts.map(({ text }) => textOf(text) ?? '').join('\n');
}

function assistantMessage(
  blocks: JsonObject[],
  { carries, provider }: AbleProvider,
  lost: Lost,
): JsonObject[] {
  const details: JsonObject[] = [];
  const parts: JsonObject[] = [];
  const own: JsonObject[] = [];
  const calls: JsonObject[] = [];
  let thought = '';
  let kept: JsonObject = {};
  let mark: JsonValue | undefined;
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        if (textOf(block.text) !== undefined) parts.push({ type: 'text', text: block.text ?? '' });
        if (!carries.own) tellSources(block, lost);
        mark = block.cache_control ?? mark;
        break;
      case 'tool_use':
        calls.push(callOf(block, kept));
        kept = {};
        mark = block.cache_control ?? mark;
        break;
      case 'thinking':
      case 'redacted_thinking': {
        const theirs = keptIn(block.signature);
        if (theirs !== undefined) kept = { ...kept, ...theirs };
        if (theirs !== undefined) details.push(...detailsFor(theirs, provider));
        thought += textOf(block.thinking) ?? '';
        if (theirs === undefined && carries.signatures) own.push(block);
        else if (theirs === undefined && !carries.reasoning) lost.add('messages[*].content[*].thinking');
        break;
      }
      default:
        if (carries.own) own.push(block);
        else lost.add(`messages[*].content[*] (${textOf(block.type) ?? 'unknown'})`);
    }
  }
  if (parts.length === 0 && calls.length === 0 && own.length === 0) return [];
  const { extra_content: extraContent } = kept;
  return [
    {
      role: 'assistant',
      content: parts.length === 0 ? null : joined(parts),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(own.length === 0 ? {} : { content_blocks: own }),
      ...(thought !== '' && carries.reasoning ? { reasoning_content: thought } : {}),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      // A signature that stands after the last call is the text's.
      ...(isObject(extraContent) ? { extra_content: extraContent } : {}),
      ...markOf(mark, carries, lost),
    },
  ];
}

function joined(parts: readonly JsonObject[]): string {
  return parts.map(({ text }) => textOf(text) ?? '').join('');
}

function callOf({ id, name, input }: JsonObject, kept: JsonObject): JsonObject {
  const { extra_content: extraContent } = kept;
  return {
    id: id ?? '',
    type: 'function',
    function: { name: name ?? '', arguments: JSON.stringify(objectOf(input) ?? {}) },
    ...(isObject(extraContent) ? { extra_content: extraContent } : {}),
  };
}
