// A conversation as the Messages API has it: system text apart, turns of user and
// assistant in alternation, tool calls and results as blocks of those turns.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ChatMessage, ToolCall } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { InnerJson } from '../../inner-json.ts';
import { arrayOf, given, isObject } from '../../json-object.ts';
import { contentBlocks } from './content.ts';

/** What `messages` becomes. */
export interface Conversation {
  /** Text, or blocks when any carries more than text (cache_control); undefined without system messages. */
  readonly system: string | JsonObject[] | undefined;
  readonly messages: JsonObject[];
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: JsonObject[];
}

/** @throws GatewayError `validation_failed` naming the message that cannot be expressed. */
export function conversation(messages: readonly ChatMessage[]): Conversation {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const inner = new InnerJson();
  messages.forEach((message, i) => {
    const path = `messages[${i}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...systemBlocks(message, path));
        break;
      case 'user':
        append(turns, 'user', userBlocks(message, path));
        break;
      case 'assistant':
        append(turns, 'assistant', assistantBlocks(message, path, inner));
        break;
      case 'tool':
        append(turns, 'user', [toolResult(message, path)]);
        break;
      default:
        throw invalidField(
          `${path}.role`,
          `"${message.role.slice(0, 64)}" is not supported by this provider`,
        );
    }
  });
  return { system: systemText(system), messages: turns.map(turnJson) };
}

/** Turns alternate: a message in the same role joins the turn before it, tool results first. */
function append(turns: Turn[], role: Turn['role'], blocks: JsonObject[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role !== role) {
    turns.push({ role, blocks });
    return;
  }
  const at =
    blocks[0]?.type === 'tool_result'
      ? last.blocks.findLastIndex((block) => block.type === 'tool_result') + 1
      : last.blocks.length;
  last.blocks.splice(at, 0, ...blocks);
}

function turnJson({ role, blocks }: Turn): JsonObject {
  return { role, content: plainText(blocks) ?? blocks };
}

/** A single block of nothing but text, as text. */
function plainText(blocks: readonly JsonObject[]): string | undefined {
  const [only] = blocks;
  return blocks.length === 1 && only && isPlain(only) ? String(only.text) : undefined;
}

function isPlain(block: JsonObject): boolean {
  return block.type === 'text' && Object.keys(block).length === 2;
}

function systemText(blocks: JsonObject[]): Conversation['system'] {
  if (blocks.length === 0) return undefined;
  return blocks.every(isPlain) ? blocks.map((block) => block.text).join('\n\n') : blocks;
}

function systemBlocks(message: ChatMessage, path: string): JsonObject[] {
  const blocks = contentBlocks(message.content, `${path}.content`);
  const odd = blocks.findIndex((block) => block.type !== 'text');
  if (odd !== -1) throw invalidField(`${path}.content[${odd}].type`, 'must be text in a system message');
  return cached(blocks, message);
}

function userBlocks(message: ChatMessage, path: string): JsonObject[] {
  const blocks = contentBlocks(message.content, `${path}.content`);
  if (blocks.length === 0) throw invalidField(`${path}.content`, 'must not be empty');
  return cached(blocks, message);
}

/** Thinking comes first, as it came (its signature proves it), then the text, then the calls. */
function assistantBlocks(message: ChatMessage, path: string, inner: InnerJson): JsonObject[] {
  if (message.functionCall) throw invalidField(`${path}.function_call`, 'use tool_calls instead');
  const own = arrayOf(message.extra?.content_blocks).filter(isOwn).map(withoutIndex);
  const text = contentBlocks(message.content, `${path}.content`);
  if (text.length === 0 && message.refusal) text.push({ type: 'text', text: message.refusal });
  const calls = message.toolCalls.map((call, i) => toolUse(call, `${path}.tool_calls[${i}]`, inner));
  return cached([...own, ...text, ...calls], message);
}

/** Blocks that only Anthropic knows; the message's own members carry text and tool calls. */
function isOwn(value: JsonValue): value is JsonObject {
  return isObject(value) && value.type !== 'text' && value.type !== 'tool_use';
}

function withoutIndex({ index: _index, ...block }: JsonObject): JsonObject {
  return block;
}

function toolUse(call: ToolCall, path: string, inner: InnerJson): JsonObject {
  if (call.function === undefined) throw invalidField(`${path}.function`, 'is required');
  const { name, arguments: text } = call.function;
  return {
    type: 'tool_use',
    id: call.id ?? '',
    name: name ?? '',
    input: inner.arguments(text ?? '', `${path}.function.arguments`),
    ...given(call.extra),
  };
}

function toolResult(message: ChatMessage, path: string): JsonObject {
  if (!message.toolCallId) throw invalidField(`${path}.tool_call_id`, 'is required');
  const blocks = contentBlocks(message.content, `${path}.content`);
  const { cache_control, is_error } = given(message.extra) ?? {};
  return {
    type: 'tool_result',
    tool_use_id: message.toolCallId,
    ...(blocks.length === 0 ? {} : { content: plainText(blocks) ?? blocks }),
    ...(is_error === undefined ? {} : { is_error }),
    ...(cache_control === undefined ? {} : { cache_control }),
  };
}

/** A message's own cache_control marks its last block, as Anthropic's marks do. */
function cached(blocks: JsonObject[], message: ChatMessage): JsonObject[] {
  const mark = message.extra?.cache_control;
  const last = blocks.at(-1);
  if (isObject(mark) && last !== undefined && last.cache_control === undefined) {
    blocks[blocks.length - 1] = { ...last, cache_control: mark };
  }
  return blocks;
}
