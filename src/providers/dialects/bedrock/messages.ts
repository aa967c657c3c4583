// A conversation as Converse has it: the system's text apart, turns of user and assistant in alternation, calls and
// their results as blocks of those turns.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ChatMessage, ToolCall } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { InnerJson } from '../../inner-json.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';
import { cachePoint, contentBlocks, type DocumentNames } from './content.ts';

/** What `messages` becomes. */
export interface Conversation {
  readonly system: JsonObject[];
  readonly messages: JsonObject[];
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** @throws GatewayError `validation_failed` naming the message that cannot be expressed. */
export function conversation(messages: readonly ChatMessage[]): Conversation {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const names: DocumentNames = new Set();
  const inner = new InnerJson();
  messages.forEach((message, i) => {
    const path = `messages[${i}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...systemBlocks(message, path, names));
        break;
      case 'user':
        append(turns, 'user', userBlocks(message, path, names));
        break;
      case 'assistant':
        append(turns, 'assistant', assistantBlocks(message, path, names, inner));
        break;
      case 'tool':
        append(turns, 'user', toolResult(message, path, names));
        break;
      default:
        throw invalidField(
          `${path}.role`,
          `"${message.role.slice(0, 64)}" is not supported by this provider`,
        );
    }
  });
  return { system, messages: turns.map(({ role, content }) => ({ role, content })) };
}

/** Turns alternate: what follows in the same role joins the turn. */
function append(turns: Turn[], role: Turn['role'], content: JsonObject[]): void {
  if (content.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...content);
  else turns.push({ role, content });
}

function systemBlocks(message: ChatMessage, path: string, names: DocumentNames): JsonObject[] {
  const blocks = contentBlocks(message.content, `${path}.content`, names);
  const odd = blocks.findIndex(
    (block) => !('text' in block || 'cachePoint' in block || 'guardContent' in block),
  );
  if (odd !== -1) throw invalidField(`${path}.content[${odd}].type`, 'must be text in a system message');
  return [...blocks, ...cachePoint(message.extra?.cache_control)];
}

function userBlocks(message: ChatMessage, path: string, names: DocumentNames): JsonObject[] {
  const blocks = contentBlocks(message.content, `${path}.content`, names);
  if (blocks.length === 0) throw invalidField(`${path}.content`, 'must not be empty');
  return [...blocks, ...cachePoint(message.extra?.cache_control)];
}

/** Thinking comes first, as it came (its signature proves it), then the text, then the calls. */
function assistantBlocks(
  message: ChatMessage,
  path: string,
  names: DocumentNames,
  inner: InnerJson,
): JsonObject[] {
  if (message.functionCall) throw invalidField(`${path}.function_call`, 'use tool_calls instead');
  const own = arrayOf(message.extra?.content_blocks).flatMap(ownBlock);
  const text = contentBlocks(message.content, `${path}.content`, names);
  if (text.length === 0 && message.refusal) text.push({ text: message.refusal });
  const calls = message.toolCalls.map((call, i) => toolUse(call, `${path}.tool_calls[${i}]`, inner));
  return [...own, ...text, ...calls, ...cachePoint(message.extra?.cache_control)];
}

/** A block that an answer gave in `content_blocks`, for the way back; text is said by the message's own member. */
function ownBlock(value: JsonValue): JsonObject[] {
  if (!isObject(value)) return [];
  switch (value.type) {
    case 'thinking': {
      const signature = textOf(value.signature);
      const text = textOf(value.thinking) ?? '';
      return [
        { reasoningContent: { reasoningText: { text, ...(signature === undefined ? {} : { signature }) } } },
      ];
    }
    case 'redacted_thinking':
      return [{ reasoningContent: { redactedContent: textOf(value.data) ?? '' } }];
    case 'server_tool_use': {
      const { id = '', name = '', input = {} } = value;
      return [{ toolUse: { toolUseId: id, name, input, type: 'server_tool_use' } }];
    }
    case 'tool_result': {
      const { tool_use_id: id = '', content = [], result_type: type, status } = value;
      return [
        {
          toolResult: {
            toolUseId: id,
            content,
            ...(type === undefined ? {} : { type }),
            ...(status === undefined ? {} : { status }),
          },
        },
      ];
    }
    default:
      return [];
  }
}

function toolUse(call: ToolCall, path: string, inner: InnerJson): JsonObject {
  if (call.function === undefined) throw invalidField(`${path}.function`, 'is required');
  const { name = '', arguments: text = '' } = call.function;
  const input = inner.arguments(text, `${path}.function.arguments`);
  return { toolUse: { toolUseId: call.id ?? '', name, input } };
}

function toolResult(message: ChatMessage, path: string, names: DocumentNames): JsonObject[] {
  if (!message.toolCallId) throw invalidField(`${path}.tool_call_id`, 'is required');
  const content = contentBlocks(message.content, `${path}.content`, names);
  const result: JsonObject = { toolUseId: message.toolCallId, content };
  if (message.extra?.is_error === true) result.status = 'error';
  return [{ toolResult: result }, ...cachePoint(message.extra?.cache_control)];
}
