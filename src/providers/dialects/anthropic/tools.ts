// Tools and their choice (Anthropic, "Tool use").
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateChatCompletionRequest,
  Tool,
  ToolChoice,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given } from '../../json-object.ts';

/** The request's `tools`; undefined without any. Tools of Anthropic's own types are carried as they are. */
export function toolList(tools: readonly Tool[]): JsonObject[] | undefined {
  return tools.length === 0 ? undefined : tools.map((tool, i) => toolJson(tool, `tools[${i}]`));
}

function toolJson(tool: Tool, path: string): JsonObject {
  if (tool.type !== 'function') {
    if (tool.extra?.custom !== undefined) {
      throw invalidField(`${path}.type`, 'must be "function": this provider has no free-form tools');
    }
    return { type: tool.type, ...given(tool.extra) };
  }
  const definition = tool.function;
  if (definition === undefined) throw invalidField(`${path}.function`, 'is required');
  return {
    name: definition.name,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    input_schema: definition.parameters ?? { type: 'object', properties: {} },
    ...(definition.strict === undefined ? {} : { strict: definition.strict }),
    ...given(definition.extra),
    ...given(tool.extra),
  };
}

/**
 * The request's `tool_choice`, with `parallel_tool_calls: false` in it; undefined when it
 * would say nothing, and without tools, where Anthropic refuses it.
 */
export function toolChoice(request: CreateChatCompletionRequest): JsonObject | undefined {
  const choice = request.toolChoice && choiceJson(request.toolChoice);
  if (
    request.tools.length === 0 &&
    (choice === undefined || choice.type === 'auto' || choice.type === 'none')
  ) {
    return undefined;
  }
  if (request.parallelToolCalls !== false || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function choiceJson({ kind }: ToolChoice): JsonObject | undefined {
  if (kind.case === undefined) return undefined;
  if (kind.case === 'mode') {
    switch (kind.value) {
      case 'auto':
      case 'none':
      case 'any':
        return { type: kind.value };
      case 'required':
        return { type: 'any' };
      default:
        throw invalidField('tool_choice', 'must be "none", "auto", "required" or name a function');
    }
  }
  const { type, function: named, extra } = kind.value;
  if (type === 'function') {
    if (named?.name === undefined) throw invalidField('tool_choice.function.name', 'is required');
    return { type: 'tool', name: named.name };
  }
  if (type === 'tool' || type === 'auto' || type === 'any' || type === 'none')
    return { type, ...given(extra) };
  throw invalidField('tool_choice.type', `"${(type ?? '').slice(0, 64)}" is not supported by this provider`);
}
