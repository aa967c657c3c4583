// Tools and their choice (Cohere API reference, "Chat", `tools` and `tool_choice`).
import type { JsonObject } from '@bufbuild/protobuf';
import type { Tool, ToolChoice } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';

/** The request's `tools`; undefined without any. */
export function toolList(tools: readonly Tool[]): JsonObject[] | undefined {
  return tools.length === 0 ? undefined : tools.map((tool, i) => toolJson(tool, `tools[${i}]`));
}

function toolJson({ type, function: definition }: Tool, path: string): JsonObject {
  if (type !== 'function') throw invalidField(`${path}.type`, 'must be "function" with this provider');
  if (definition === undefined) throw invalidField(`${path}.function`, 'is required');
  const { name, description, parameters } = definition;
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  };
}

/** Cohere's tool choice is REQUIRED or NONE; without one it does what OpenAI calls "auto". */
export function toolChoice(choice: ToolChoice | undefined): string | undefined {
  const kind = choice?.kind;
  if (kind?.case === undefined) return undefined;
  if (kind.case === 'named')
    throw invalidField(
      'tool_choice',
      'cannot name a function with this provider: use "required" and one tool',
    );
  switch (kind.value) {
    case 'auto':
      return undefined;
    case 'none':
      return 'NONE';
    case 'required':
    case 'any':
      return 'REQUIRED';
    default:
      throw invalidField('tool_choice', 'must be "none", "auto" or "required"');
  }
}
