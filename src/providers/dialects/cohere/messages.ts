// A conversation as Cohere has it: nearly OpenAI's, with the plan before tool calls (`tool_plan`).
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatMessage, Content, ContentPart } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { arrayOf, given, isObject } from '../../json-object.ts';

/** @throws GatewayError `validation_failed` naming the message that cannot be expressed. */
export function conversation(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.map((message, i) => oneMessage(message, `messages[${i}]`));
}

function oneMessage(message: ChatMessage, path: string): JsonObject {
  const content = contentOf(message.content, `${path}.content`);
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: content ?? '' };
    case 'user':
      return { role: 'user', content: content ?? '' };
    case 'assistant':
      return assistant(message, content, path);
    case 'tool':
      if (!message.toolCallId) throw invalidField(`${path}.tool_call_id`, 'is required');
      return { role: 'tool', tool_call_id: message.toolCallId, content: content ?? '' };
    default:
      throw invalidField(`${path}.role`, `"${message.role.slice(0, 64)}" is not supported by this provider`);
  }
}

function assistant(
  message: ChatMessage,
  content: JsonObject['content'] | undefined,
  path: string,
): JsonObject {
  if (message.functionCall) throw invalidField(`${path}.function_call`, 'use tool_calls instead');
  const thoughts = arrayOf(message.extra?.content_blocks)
    .filter(isObject)
    .filter(({ type }) => type === 'thinking')
    .map(({ thinking }) => ({ type: 'thinking', thinking: thinking ?? '' }));
  const text = content ?? message.refusal;
  const parts = typeof text === 'string' ? [{ type: 'text', text }] : arrayOf(text);
  const plan = message.extra?.tool_plan;
  return {
    role: 'assistant',
    ...(thoughts.length > 0
      ? { content: [...thoughts, ...parts] }
      : text === undefined
        ? {}
        : { content: text }),
    ...(typeof plan === 'string' ? { tool_plan: plan } : {}),
    ...(message.toolCalls.length === 0
      ? {}
      : {
          tool_calls: message.toolCalls.map(({ id, function: called }) => ({
            id: id ?? '',
            type: 'function',
            function: { name: called?.name ?? '', arguments: called?.arguments || '{}' },
          })),
        }),
  };
}

function contentOf(content: Content | undefined, path: string): string | JsonObject[] | undefined {
  const kind = content?.kind;
  if (kind?.case === 'text') return kind.value;
  if (kind?.case !== 'parts') return undefined;
  return kind.value.values.map((part, i) => onePart(part, `${path}[${i}]`));
}

function onePart(part: ContentPart, path: string): JsonObject {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text ?? '' };
    case 'image_url': {
      const { url = '', detail } = part.imageUrl ?? {};
      return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } };
    }
    // Results of tools that answers may cite.
    case 'document':
      return { type: 'document', ...given(part.extra) };
    default:
      throw invalidField(`${path}.type`, `"${part.type.slice(0, 64)}" is not supported by this provider`);
  }
}
