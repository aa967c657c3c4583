// Tools and their choice (Converse, `toolConfig`).
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateChatCompletionRequest,
  Tool,
  ToolChoice,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { arrayOf, given, isObject, textOf } from '../../json-object.ts';
import { cachePoint } from './content.ts';
import { isClaude } from './model-id.ts';

/** What the request says of tools. */
export interface ToolSettings {
  readonly toolConfig: JsonObject | undefined;
  /** Members of additionalModelRequestFields: what only the model's maker knows. */
  readonly fields: JsonObject;
}

/** @param messages as Converse has them @throws GatewayError `validation_failed` for what cannot be expressed */
export function toolSettings(
  request: CreateChatCompletionRequest,
  messages: readonly JsonObject[],
): ToolSettings {
  const fields: JsonObject = {};
  const claude = isClaude(request.model ?? '');
  const own = request.tools.filter(({ type }) => type !== 'function' && !isSystem(type));
  if (own.length > 0 && !claude) throw unsupported(request.tools, own[0]!);
  if (own.length > 0) fields.tools = own.map(({ type, extra }) => ({ type, ...given(extra) }));
  if (request.parallelToolCalls === false && request.tools.length > 0) {
    if (!claude) throw invalidField('parallel_tool_calls', 'must be true with this model');
  }
  const tools = request.tools.flatMap((tool, i) => toolJson(tool, `tools[${i}]`));
  const choice = request.toolChoice && choiceJson(request.toolChoice);
  if (request.parallelToolCalls === false && request.tools.length > 0)
    fields.tool_choice = { ...claudeChoice(choice), disable_parallel_tool_use: true };
  if (tools.length === 0 && own.length === 0 && isObject(choice) && !('auto' in choice))
    throw invalidField('tool_choice', 'needs tools');
  if (tools.length === 0) return { toolConfig: undefined, fields };
  if (choice === 'none') {
    // Converse has no such choice; a conversation without calls needs no tools at all.
    if (!hasCalls(messages)) return { toolConfig: undefined, fields: {} };
    throw invalidField('tool_choice', '"none" is not supported by this provider after tool calls');
  }
  return { toolConfig: { tools, ...(choice === undefined ? {} : { toolChoice: choice }) }, fields };
}

function isSystem(type: string): boolean {
  return type === 'system_tool' || type === 'systemTool';
}

function toolJson({ type, function: definition, extra }: Tool, path: string): JsonObject[] {
  if (isSystem(type)) {
    const name =
      textOf(extra?.name) ?? (isObject(extra?.systemTool) ? textOf(extra.systemTool.name) : undefined);
    if (name === undefined) throw invalidField(`${path}.name`, 'is required');
    return [{ systemTool: { name } }];
  }
  if (type !== 'function') return [];
  if (definition === undefined) throw invalidField(`${path}.function`, 'is required');
  const { name, description, parameters, strict } = definition;
  const toolSpec: JsonObject = {
    name,
    ...(description ? { description } : {}),
    inputSchema: { json: parameters ?? { type: 'object', properties: {} } },
    ...(strict === undefined ? {} : { strict }),
  };
  return [{ toolSpec }, ...cachePoint(extra?.cache_control ?? definition.extra?.cache_control)];
}

function choiceJson({ kind }: ToolChoice): JsonObject | 'none' | undefined {
  if (kind.case === undefined) return undefined;
  if (kind.case === 'named') {
    const name = kind.value.function?.name;
    if (name === undefined) throw invalidField('tool_choice.function.name', 'is required');
    return { tool: { name } };
  }
  switch (kind.value) {
    case 'auto':
      return { auto: {} };
    case 'required':
    case 'any':
      return { any: {} };
    case 'none':
      return 'none';
    default:
      throw invalidField('tool_choice', 'must be "none", "auto", "required" or name a function');
  }
}

/** The same choice in the words of Claude's own API. */
function claudeChoice(choice: JsonObject | 'none' | undefined): JsonObject {
  if (!isObject(choice)) return { type: 'auto' };
  const { tool } = choice;
  if (isObject(tool)) return { type: 'tool', name: tool.name ?? '' };
  return { type: 'any' in choice ? 'any' : 'auto' };
}

function hasCalls(messages: readonly JsonObject[]): boolean {
  return messages.some(({ content }) =>
    arrayOf(content).some((block) => isObject(block) && ('toolUse' in block || 'toolResult' in block)),
  );
}

function unsupported(tools: readonly Tool[], tool: Tool) {
  const path = `tools[${tools.indexOf(tool)}].type`;
  return invalidField(path, `"${tool.type.slice(0, 64)}" is not supported by this provider with this model`);
}
