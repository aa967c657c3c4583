// Tools and their choice (Gemini API, "Function calling").
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateChatCompletionRequest,
  Tool,
  ToolChoice,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given } from '../../json-object.ts';
import { isOpenApiSubset } from './schema.ts';

/** Tools that Gemini runs itself, by the names that callers give them as `type` or as a function. */
const OWN_TOOLS: Readonly<Record<string, string>> = Object.freeze({
  google_search: 'googleSearch',
  googleSearch: 'googleSearch',
  google_search_retrieval: 'googleSearchRetrieval',
  googleSearchRetrieval: 'googleSearchRetrieval',
  code_execution: 'codeExecution',
  codeExecution: 'codeExecution',
  url_context: 'urlContext',
  urlContext: 'urlContext',
  google_maps: 'googleMaps',
  googleMaps: 'googleMaps',
  file_search: 'fileSearch',
  fileSearch: 'fileSearch',
  computer_use: 'computerUse',
  computerUse: 'computerUse',
});

/** The request's `tools`: all functions in one tool, each of Gemini's own in one of its own; undefined without any. */
export function toolList({ tools }: CreateChatCompletionRequest): JsonObject[] | undefined {
  if (tools.length === 0) return undefined;
  const functions: JsonObject[] = [];
  const own: JsonObject[] = [];
  tools.forEach((tool, i) => {
    if (tool.type === 'function') functions.push(declaration(tool, `tools[${i}]`));
    else own.push(ownTool(tool, `tools[${i}]`));
  });
  return [...(functions.length > 0 ? [{ functionDeclarations: functions }] : []), ...own];
}

function declaration({ function: definition }: Tool, path: string): JsonObject {
  if (definition === undefined) throw invalidField(`${path}.function`, 'is required');
  const { name, description, parameters } = definition;
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined || Object.keys(parameters).length === 0
      ? {}
      : { [isOpenApiSubset(parameters) ? 'parameters' : 'parametersJsonSchema']: parameters }),
  };
}

function ownTool({ type, extra }: Tool, path: string): JsonObject {
  if (!Object.hasOwn(OWN_TOOLS, type))
    throw invalidField(`${path}.type`, `"${type.slice(0, 64)}" is not supported by this provider`);
  const options = given(extra) ?? {};
  const name = OWN_TOOLS[type] as string;
  // Options are members of the tool itself, or of a member with its name.
  return { [name]: options[type] ?? options };
}

/** The request's `tool_choice`; undefined when it has none. */
export function toolConfig({ toolChoice, tools }: CreateChatCompletionRequest): JsonObject | undefined {
  const config = toolChoice && callingConfig(toolChoice);
  if (config?.mode === 'ANY' && tools.length === 0) throw invalidField('tool_choice', 'needs tools');
  return config === undefined || tools.length === 0 ? undefined : { functionCallingConfig: config };
}

function callingConfig({ kind }: ToolChoice): JsonObject | undefined {
  if (kind.case === undefined) return undefined;
  if (kind.case === 'named') {
    const name = kind.value.function?.name;
    if (name === undefined) throw invalidField('tool_choice.function.name', 'is required');
    return { mode: 'ANY', allowedFunctionNames: [name] };
  }
  switch (kind.value) {
    case 'auto':
      return { mode: 'AUTO' };
    case 'none':
      return { mode: 'NONE' };
    case 'required':
    case 'any':
      return { mode: 'ANY' };
    default:
      throw invalidField('tool_choice', 'must be "none", "auto", "required" or name a function');
  }
}
