// The pieces of text in the events of each API's stream, as plain JSON: what a stream guard asks of every event.
import { objectAt, objectsIn } from '../view/slots.ts';
import type { Api, JsonObject } from '../view/traffic.ts';
import type { Increment } from './channel.ts';

type Draft = Omit<Increment, 'text'>;

/** The pieces of one event; none of an event without text. */
export function incrementsOf(api: Api, event: JsonObject): readonly Increment[] {
  switch (api) {
    case 'chat':
      return chatIncrements(event);
    case 'completions':
      return objectsIn([], event.choices).flatMap(([choice]) =>
        piece({ unit: indexOf(choice), kind: 'content' }, choice.text),
      );
    case 'responses':
      return responsesIncrements(event);
    case 'messages':
      return messagesIncrements(event);
    default:
      return [];
  }
}

function chatIncrements(chunk: JsonObject): Increment[] {
  return objectsIn([], chunk.choices).flatMap(([choice]) => {
    const delta = objectAt(choice, 'delta');
    const unit = indexOf(choice);
    const calls = objectsIn([], delta.tool_calls).flatMap(([call]) => {
      const inner = { ...objectAt(call, 'function'), ...objectAt(call, 'custom') } as JsonObject;
      const given = inner.arguments ?? inner.input;
      const text = typeof given === 'object' && given !== null ? JSON.stringify(given) : given;
      return piece(callOf(unit, indexOf(call), inner.name), text, true);
    });
    const legacy = objectAt(delta, 'function_call');
    return [
      ...piece({ unit, kind: 'content' }, wordsOf(delta.content)),
      ...piece({ unit, kind: 'content' }, delta.refusal),
      ...piece({ unit, kind: 'content' }, objectAt(delta, 'audio').transcript),
      ...piece(
        { unit, kind: 'reasoning' },
        wordsOf(delta.reasoning_content ?? delta.reasoning ?? delta.reasoning_details),
      ),
      ...calls,
      ...piece(callOf(unit, -1, legacy.name), legacy.arguments),
    ];
  });
}

/** OpenAI's API reference, "Streaming events" of responses. */
function responsesIncrements(event: JsonObject): Increment[] {
  const call = typeof event.output_index === 'number' ? event.output_index : 0;
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
    case 'response.audio.transcript.delta':
      return piece({ unit: 0, kind: 'content' }, event.delta);
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return piece({ unit: 0, kind: 'reasoning' }, event.delta);
    case 'response.function_call_arguments.delta':
    case 'response.mcp_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return piece(callOf(0, call, undefined), event.delta);
    case 'response.output_item.added': {
      const { name } = objectAt(event, 'item');
      return typeof name === 'string' ? piece(callOf(0, call, name), '', true) : [];
    }
    default:
      return [];
  }
}

/** Anthropic's API reference, "Streaming messages". */
function messagesIncrements(event: JsonObject): Increment[] {
  const call = indexOf(event);
  if (event.type === 'content_block_start') {
    const block = objectAt(event, 'content_block');
    if (typeof block.name === 'string') return piece(callOf(0, call, block.name), '', true);
    return [
      ...piece({ unit: 0, kind: 'content' }, block.text),
      ...piece({ unit: 0, kind: 'reasoning' }, block.thinking),
    ];
  }
  if (event.type !== 'content_block_delta') return [];
  const delta = objectAt(event, 'delta');
  return [
    ...piece({ unit: 0, kind: 'content' }, delta.text),
    ...piece({ unit: 0, kind: 'reasoning' }, delta.thinking),
    ...piece(callOf(0, call, undefined), delta.partial_json),
  ];
}

/** Levels of parts within parts that are looked into. */
const MOST_LEVELS = 8;

/** What a content says. Some providers give it in parts, although the contract has a text there. */
export function wordsOf(content: unknown, levels: number = MOST_LEVELS): string {
  if (typeof content === 'string') return content;
  if (typeof content !== 'object' || content === null || levels === 0) return '';
  if (Array.isArray(content)) return content.map((part) => wordsOf(part, levels - 1)).join('');
  const { text, thinking, refusal } = content as JsonObject;
  return [text, thinking, refusal].map((part) => wordsOf(part, levels - 1)).join('');
}

function callOf(unit: number, call: number, name: unknown): Draft {
  return { unit, kind: 'tool_call', call, ...(typeof name === 'string' && name !== '' ? { name } : {}) };
}

/** @param named whether the piece counts without a text: it names a tool */
function piece(draft: Draft, text: unknown, named = false): Increment[] {
  if (typeof text === 'string' && text !== '') return [{ ...draft, text }];
  return named && draft.name !== undefined ? [{ ...draft, text: '' }] : [];
}

function indexOf({ index }: JsonObject): number {
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : 0;
}
