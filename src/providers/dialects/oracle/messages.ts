// A conversation in Oracle's generic format: roles in capitals, contents as parts.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatMessage, ContentPart } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';

/** @throws GatewayError `validation_failed` naming the message that cannot be expressed. */
export function conversation(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.map((message, i) => {
    const content = parts(message, i);
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'SYSTEM', content };
      case 'user':
        return { role: 'USER', content };
      case 'assistant':
        return assistant(message, content, i);
      case 'tool':
        if (!message.toolCallId) throw invalidField(`messages[${i}].tool_call_id`, 'is required');
        return { role: 'TOOL', toolCallId: message.toolCallId, content };
      default:
        throw invalidField(
          `messages[${i}].role`,
          `"${message.role.slice(0, 64)}" is not supported by this provider`,
        );
    }
  });
}

/** A message's text; images have none. @throws GatewayError `validation_failed` for parts that are no text */
export function textIn(message: ChatMessage, i: number): string {
  return parts(message, i)
    .map(({ type, text }, k) => {
      if (type === 'TEXT') return text;
      throw invalidField(`messages[${i}].content[${k}].type`, 'must be text with this model');
    })
    .join('');
}

function assistant(message: ChatMessage, content: JsonObject[], i: number): JsonObject {
  if (message.functionCall) throw invalidField(`messages[${i}].function_call`, 'use tool_calls instead');
  const toolCalls = message.toolCalls.map(({ id, function: called }) => ({
    type: 'FUNCTION',
    id: id ?? '',
    name: called?.name ?? '',
    arguments: called?.arguments || '{}',
  }));
  return {
    role: 'ASSISTANT',
    ...(content.length === 0 ? {} : { content }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function parts(message: ChatMessage, i: number): JsonObject[] {
  const kind = message.content?.kind;
  if (kind?.case === 'text') return [{ type: 'TEXT', text: kind.value }];
  if (kind?.case !== 'parts') return [];
  return kind.value.values.map((part, k) => onePart(part, `messages[${i}].content[${k}]`));
}

function onePart(part: ContentPart, path: string): JsonObject {
  if (part.type === 'text') return { type: 'TEXT', text: part.text ?? '' };
  if (part.type === 'image_url') {
    const { url = '', detail } = part.imageUrl ?? {};
    return {
      type: 'IMAGE',
      imageUrl: { url, ...(detail === undefined ? {} : { detail: detail.toUpperCase() }) },
    };
  }
  throw invalidField(`${path}.type`, `"${part.type.slice(0, 64)}" is not supported by this provider`);
}
