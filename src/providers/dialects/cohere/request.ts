// The request of POST /v2/chat (Cohere API reference, "Chat").
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { Outbound } from '../../dialect.ts';
import { given, isObject } from '../../json-object.ts';
import { conversation } from './messages.ts';
import { refuseInexpressible } from './refusals.ts';
import { toolChoice, toolList } from './tools.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);
const GET_HEADERS = Object.freeze(['accept', 'application/json']);
/** What the model may think with at each of OpenAI's efforts; Cohere's own default is no bound. */
const BUDGETS: Readonly<Record<string, number>> = Object.freeze({
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
});
/** OpenAI's members are read here, and never carried; Cohere's own go as they are (documents, safety_mode, ...). */
const OPENAI_MEMBERS: ReadonlySet<string> = new Set(
  CreateChatCompletionRequestSchema.fields.map((field) => field.name),
);

/** The call. @throws GatewayError `validation_failed` where Cohere cannot express the request. */
export function chatCall(request: CreateChatCompletionRequest, stream: boolean): Outbound {
  refuseInexpressible(request);
  const body: JsonObject = { ...ownMembers(request), stream };
  for (const [name, value] of Object.entries(given(request.extra) ?? {})) {
    if (name === '__proto__' || OPENAI_MEMBERS.has(name)) continue;
    const own = name === 'top_k' ? 'k' : name;
    if (body[own] !== undefined)
      throw invalidField(name, 'is given twice, in the words of OpenAI and of the provider');
    body[own] = value;
  }
  return {
    method: 'POST',
    path: '/v2/chat',
    headers: stream ? SSE_HEADERS : JSON_HEADERS,
    body: jsonBody(body),
  };
}

/** A call with a JSON body and a JSON answer. */
export function postCall(path: string, body: JsonObject): Outbound {
  return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(body) };
}

/** A call without a body. */
export function getCall(path: string): Outbound {
  return { method: 'GET', path, headers: GET_HEADERS, body: undefined };
}

function ownMembers(request: CreateChatCompletionRequest): JsonObject {
  const tokens = request.maxCompletionTokens ?? request.maxTokens;
  const stop = request.stop?.kind;
  const members: Record<string, JsonValue | undefined> = {
    model: request.model ?? '',
    messages: conversation(request.messages),
    tools: toolList(request.tools),
    // For all tools or none (Cohere, "Structured outputs", part "Tools").
    strict_tools: request.tools.some((tool) => tool.function?.strict === true) ? true : undefined,
    tool_choice: toolChoice(request.toolChoice),
    max_tokens: tokens === undefined ? undefined : Number(tokens),
    stop_sequences:
      stop?.case === 'text' ? [stop.value] : stop?.case === 'texts' ? stop.value.values : undefined,
    temperature: request.temperature,
    p: request.topP,
    seed: request.seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logprobs: request.logprobs,
    response_format: responseFormat(request),
    thinking: thinking(request),
  };
  return Object.fromEntries(
    Object.entries(members).filter((member): member is [string, JsonValue] => member[1] !== undefined),
  );
}

function responseFormat({ responseFormat: format }: CreateChatCompletionRequest): JsonObject | undefined {
  switch (format?.type) {
    case undefined:
      return undefined;
    case 'text':
    case 'json_object':
      return { type: format?.type ?? 'text', ...given(format?.extra) };
    case 'json_schema': {
      const schema = format?.jsonSchema?.schema;
      if (!isObject(schema)) throw invalidField('response_format.json_schema.schema', 'is required');
      return { type: 'json_object', json_schema: schema };
    }
    default:
      throw invalidField('response_format.type', 'must be "text", "json_object" or "json_schema"');
  }
}

function thinking({
  thinking: own,
  reasoningEffort: effort,
}: CreateChatCompletionRequest): JsonObject | undefined {
  if (own !== undefined) {
    if (own.type === 'disabled') return { type: 'disabled' };
    const budget = own.budgetTokens;
    return { type: 'enabled', ...(budget === undefined ? {} : { token_budget: Number(budget) }) };
  }
  if (effort === undefined) return undefined;
  if (effort === 'none') return { type: 'disabled' };
  if (!Object.hasOwn(BUDGETS, effort))
    throw invalidField('reasoning_effort', `must be none or one of ${Object.keys(BUDGETS).join(', ')}`);
  return { type: 'enabled', token_budget: BUDGETS[effort] as number };
}
