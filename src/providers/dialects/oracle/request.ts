// The request in Oracle's generic format ("GenericChatRequest").
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateChatCompletionRequest,
  Tool,
  ToolChoice,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField, type Violation, validationFailed } from '../../../lib/errors.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { conversation } from './messages.ts';
import { sampling } from './sampling.ts';

/** @throws GatewayError `validation_failed` naming what cannot be expressed. */
export function chatRequest(request: CreateChatCompletionRequest, stream: boolean): JsonObject {
  refuse(request);
  const { tools, toolChoice, parallelToolCalls, topLogprobs, n, verbosity, metadata } = request;
  const { prediction, webSearchOptions, serviceTier } = request;
  const logProbs = topLogprobs ?? (request.logprobs === true ? 1 : undefined);
  const effort = request.reasoningEffort ?? (request.thinking?.type === 'disabled' ? 'none' : undefined);
  const choice = toolChoiceOf(toolChoice);
  return {
    apiFormat: 'GENERIC',
    messages: conversation(request.messages),
    ...sampling(request, 'stop'),
    ...(n === undefined ? {} : { numGenerations: n }),
    ...(logProbs === undefined ? {} : { logProbs }),
    ...(Object.keys(request.logitBias).length === 0 ? {} : { logitBias: { ...request.logitBias } }),
    ...(effort === undefined ? {} : { reasoningEffort: effort.toUpperCase() }),
    ...(verbosity === undefined ? {} : { verbosity: verbosity.toUpperCase() }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(prediction === undefined ? {} : { prediction: predictionOf(prediction) }),
    ...(webSearchOptions === undefined ? {} : { webSearchOptions: namedOptions(webSearchOptions) }),
    ...(serviceTier === undefined ? {} : { serviceTier: serviceTier.toUpperCase() }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(parallelToolCalls === undefined ? {} : { isParallelToolCalls: parallelToolCalls }),
    ...formatOf(request),
    isStream: stream,
    ...(stream ? { streamOptions: { isIncludeUsage: true } } : {}),
  };
}

function refuse(request: CreateChatCompletionRequest): void {
  const given: Readonly<Record<string, boolean>> = {
    audio: request.audio !== undefined,
    modalities: request.modalities.some((kind) => kind !== 'text'),
    functions: request.functions.length > 0,
    function_call: request.functionCall !== undefined,
    // An effort is what it has.
    thinking: request.thinking !== undefined && request.thinking.type !== 'disabled',
  };
  const violations = Object.entries(given).flatMap(([field, is]): Violation[] =>
    is ? [{ field, rule: 'unsupported', message: 'is not supported by this provider' }] : [],
  );
  if (violations.length > 0) throw validationFailed(violations);
}

function toolOf({ type, function: definition }: Tool, i: number): JsonObject {
  if (type !== 'function') throw invalidField(`tools[${i}].type`, 'must be "function" with this provider');
  if (definition === undefined) throw invalidField(`tools[${i}].function`, 'is required');
  const { name, description, parameters } = definition;
  return {
    type: 'FUNCTION',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  };
}

function toolChoiceOf(choice: ToolChoice | undefined): JsonObject | undefined {
  const kind = choice?.kind;
  if (kind?.case === undefined) return undefined;
  if (kind.case === 'named') return { type: 'FUNCTION', name: kind.value.function?.name ?? '' };
  if (!['auto', 'none', 'required'].includes(kind.value))
    throw invalidField('tool_choice', 'must be "none", "auto" or "required"');
  return { type: kind.value.toUpperCase() };
}

function formatOf({ responseFormat: format }: CreateChatCompletionRequest): JsonObject {
  switch (format?.type) {
    case undefined:
    case 'text':
      return {};
    case 'json_object':
      return { responseFormat: { type: 'JSON_OBJECT' } };
    case 'json_schema': {
      const { name = '', description, schema, strict } = format.jsonSchema ?? {};
      return {
        responseFormat: {
          type: 'JSON_SCHEMA',
          jsonSchema: {
            name,
            ...(description === undefined ? {} : { description }),
            ...(schema === undefined ? {} : { schema }),
            ...(strict === undefined ? {} : { isStrict: strict }),
          },
        },
      };
    }
    default:
      throw invalidField('response_format.type', 'must be text, json_object or json_schema');
  }
}

/** "StaticContent": a text, or parts of text. */
function predictionOf({ content }: JsonObject): JsonObject {
  const texts =
    typeof content === 'string'
      ? [content]
      : arrayOf(content)
          .filter(isObject)
          .map(({ text }) => textOf(text) ?? '');
  return { type: 'CONTENT', content: texts.map((text) => ({ type: 'TEXT', text })) };
}

/** "WebSearchOptions": OpenAI's, in Oracle's spelling. */
function namedOptions({ search_context_size: size, user_location: location }: JsonObject): JsonObject {
  const where = objectOf(location);
  const approximate = objectOf(where?.approximate);
  return {
    ...(typeof size === 'string' ? { searchContextSize: size.toUpperCase() } : {}),
    ...(where === undefined ? {} : { userLocation: { type: 'APPROXIMATE', approximate: approximate ?? {} } }),
  };
}
