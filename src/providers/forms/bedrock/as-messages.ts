// A Converse request in the words of Anthropic's Messages: both have blocks, calls with their results, thinking with
// signatures and marks of the prompt cache, so that one translation to chat serves both.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, given, isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';
import type { Lost } from '../messages/lost.ts';
import { blocksOf, markOf } from './blocks.ts';

/** Members that no other wire has. */
const OWN = [
  ...['guardrailConfig', 'performanceConfig', 'promptVariables', 'additionalModelResponseFieldPaths'],
  ...['requestMetadata', 'serviceTier'],
];
/** Members that are read here. */
const READ: ReadonlySet<string> = new Set([
  ...[
    'model',
    'messages',
    'system',
    'inferenceConfig',
    'toolConfig',
    'additionalModelRequestFields',
    'outputConfig',
  ],
  ...OWN,
]);

/** The body of a Messages request. @param body Converse's, not changed */
export function asMessages(body: JsonObject, lost: Lost): JsonObject {
  const config = objectOf(body.inferenceConfig) ?? {};
  for (const name of OWN) if (isObject(body[name]) || Array.isArray(body[name])) lost.add(name);
  for (const [name, value] of Object.entries(body)) if (!READ.has(name) && value !== null) lost.add(name);
  const out: JsonObject = {
    model: body.model ?? '',
    messages: arrayOf(body.messages).flatMap((message, i): JsonObject[] =>
      isObject(message)
        ? [
            {
              role: message.role ?? 'user',
              content: blocksOf(message.content, `messages[${i}].content`, lost),
            },
          ]
        : [],
    ),
    ...toolMembers(objectOf(body.toolConfig), lost),
    ...formatMember(objectOf(body.outputConfig), lost),
    ...ownFields(objectOf(body.additionalModelRequestFields), lost),
  };
  const system = blocksOf(body.system, 'system', lost);
  if (system.length > 0) out.system = system;
  const { maxTokens, temperature, topP, stopSequences } = config;
  for (const [name, value] of [
    ['max_tokens', maxTokens],
    ['temperature', temperature],
    ['top_p', topP],
    ['stop_sequences', stopSequences],
  ] as const)
    if (value !== undefined && value !== null) out[name] = value;
  return out;
}

function toolMembers(config: JsonObject | undefined, lost: Lost): JsonObject {
  if (config === undefined) return {};
  const tools: JsonObject[] = [];
  for (const [i, tool] of arrayOf(config.tools).entries()) {
    if (!isObject(tool)) continue;
    const spec = objectOf(tool.toolSpec);
    const last = tools.at(-1);
    if (spec !== undefined) tools.push(toolOf(spec));
    else if (isObject(tool.cachePoint) && last !== undefined) last.cache_control = markOf(tool.cachePoint);
    else if (!isObject(tool.cachePoint)) lost.add(`toolConfig.tools[${i}].${Object.keys(tool)[0] ?? ''}`);
  }
  const choice = choiceOf(objectOf(config.toolChoice));
  return {
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  };
}

function toolOf({ name, description, inputSchema, strict }: JsonObject): JsonObject {
  const schema = objectOf(inputSchema)?.json;
  return {
    name: name ?? '',
    ...(typeof description === 'string' ? { description } : {}),
    input_schema: isObject(schema) ? schema : { type: 'object', properties: {} },
    ...(typeof strict === 'boolean' ? { strict } : {}),
  };
}

function choiceOf(choice: JsonObject | undefined): JsonObject | undefined {
  if (isObject(choice?.any)) return { type: 'any' };
  if (isObject(choice?.tool)) return { type: 'tool', name: choice.tool.name ?? '' };
  return isObject(choice?.auto) ? { type: 'auto' } : undefined;
}

/** The schema is a text. */
function formatMember(config: JsonObject | undefined, lost: Lost): JsonObject {
  const format = objectOf(config?.textFormat);
  if (format === undefined) return {};
  const { schema: text, name } = objectOf(objectOf(format.structure)?.jsonSchema) ?? {};
  const schema = typeof text === 'string' ? parsedObject(text) : undefined;
  if (format.type === 'json_schema' && schema !== undefined)
    return {
      output_config: { format: { type: 'json_schema', schema, ...(textOf(name) ? { name: name! } : {}) } },
    };
  lost.add('outputConfig.textFormat');
  return {};
}

/** Of the model's own members those that others have too. */
function ownFields(fields: JsonObject | undefined, lost: Lost): JsonObject {
  const out: JsonObject = {};
  for (const [name, value] of Object.entries(given(fields) ?? {})) {
    if (name === 'thinking' || name === 'reasoning_config') out.thinking = value;
    else if (name === 'top_k' || name === 'topK') out.top_k = value;
    else if (name === 'reasoning_effort' && typeof value === 'string')
      out.output_config = { ...objectOf(out.output_config), effort: value };
    else if (name === 'inferenceConfig' && isObject(value) && typeof value.topK === 'number')
      out.top_k = value.topK;
    else lost.add(`additionalModelRequestFields.${name}`);
  }
  return out;
}

/** Where Messages' words of what is lost stand in Converse's. */
const PATHS: readonly (readonly [RegExp, string])[] = [
  [/^tool_choice/, 'toolConfig.toolChoice'],
  [/^stop_sequences/, 'inferenceConfig.stopSequences'],
  [/^max_tokens/, 'inferenceConfig.maxTokens'],
  [/^thinking/, 'additionalModelRequestFields.thinking'],
  [/^top_k/, 'additionalModelRequestFields.top_k'],
  [/^output_config\.effort/, 'additionalModelRequestFields.reasoning_effort'],
  [/^output_config\.format/, 'outputConfig.textFormat'],
  [/^tools\[\*\]\.cache_control/, 'toolConfig.tools[*].cachePoint'],
  [/^tools/, 'toolConfig.tools'],
  [/\.is_error$/, '.toolResult.status'],
  [/\.cache_control$/, '.cachePoint'],
  [/\.thinking$/, '.reasoningContent'],
];

/** A path of a Messages request as Converse's callers know it. */
export function conversePath(path: string): string {
  const found = PATHS.find(([pattern]) => pattern.test(path));
  return found === undefined ? path : path.replace(found[0], found[1]);
}
