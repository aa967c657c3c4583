// The request of POST /messages (Anthropic API reference, "Create a Message").
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { Outbound, Target } from '../../dialect.ts';
import { given, isObject } from '../../json-object.ts';
import { conversation } from './messages.ts';
import { refuseInexpressible } from './refusals.ts';
import { bounds } from './thinking.ts';
import { toolChoice, toolList } from './tools.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);
const GET_HEADERS = Object.freeze(['accept', 'application/json']);
const BETA = /^[\x21-\x2b\x2d-\x7e]+$/;

/**
 * The call. Members that OpenAI does not have (top_k, container, mcp_servers,
 * cache_control, ...) are carried as they are; `betas`, which Anthropic's own clients
 * send as a header, goes there.
 * @throws GatewayError `validation_failed` where the Messages API cannot express the request.
 */
export function messagesCall(
  request: CreateChatCompletionRequest,
  { options }: Target,
  stream: boolean,
): Outbound {
  const { body, betas } = messagesBody(request, stream);
  const headers = messagesHeaders(betas, options, stream);
  return { method: 'POST', path: '/messages', headers, body: jsonBody(body) };
}

/**
 * The call's body, and the request's `betas` where it has some, for providers that have the API at another path.
 * @throws GatewayError `validation_failed` where the Messages API cannot express the request.
 */
export function messagesBody(
  request: CreateChatCompletionRequest,
  stream: boolean,
): { readonly body: JsonObject; readonly betas: JsonValue | undefined } {
  refuseInexpressible(request);
  const { betas, ...extra } = given(request.extra) ?? {};
  const body = withExtra(ownMembers(request), extra);
  if (stream) body.stream = true;
  return { body, betas };
}

/** The call's headers. @throws GatewayError `validation_failed` for betas that are no names. */
export function messagesHeaders(
  betas: JsonValue | undefined,
  options: Target['options'],
  stream: boolean,
): readonly string[] {
  const headers = stream ? SSE_HEADERS : JSON_HEADERS;
  return betas === undefined ? headers : [...headers, 'anthropic-beta', betaHeader(betas, options)];
}

/** A call without a body. */
export function getCall(path: string): Outbound {
  return { method: 'GET', path, headers: GET_HEADERS, body: undefined };
}

function ownMembers(request: CreateChatCompletionRequest): JsonObject {
  const { system, messages } = conversation(request.messages);
  const { maxTokens, thinking, effort } = bounds(request);
  const format = outputFormat(request);
  const userId = request.user ?? request.safetyIdentifier ?? request.metadata?.user_id;
  const stop = request.stop?.kind;
  return defined({
    model: request.model,
    max_tokens: maxTokens,
    system,
    messages,
    tools: toolList(request.tools),
    tool_choice: toolChoice(request),
    temperature: request.temperature,
    top_p: request.topP,
    stop_sequences:
      stop?.case === 'text' ? [stop.value] : stop?.case === 'texts' ? stop.value.values : undefined,
    thinking,
    output_config: effort || format ? defined({ effort, format }) : undefined,
    metadata: userId === undefined ? undefined : { user_id: userId },
    service_tier: serviceTier(request.serviceTier),
  });
}

/** Anthropic, "Structured outputs": a schema is always kept to strictly; free JSON objects are not offered. */
function outputFormat({ responseFormat }: CreateChatCompletionRequest): JsonObject | undefined {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_schema': {
      const schema = responseFormat?.jsonSchema?.schema;
      if (!isObject(schema)) throw invalidField('response_format.json_schema.schema', 'is required');
      return { type: 'json_schema', schema };
    }
    default:
      throw invalidField('response_format.type', 'must be "text" or "json_schema" with this provider');
  }
}

/** Anthropic, "Service tiers": "auto" uses priority capacity where there is some. */
function serviceTier(tier: string | undefined): string | undefined {
  if (tier === 'priority') return 'auto';
  if (tier === 'default') return 'standard_only';
  if (tier === 'flex') throw invalidField('service_tier', '"flex" is not supported by this provider');
  return tier;
}

/** Members of OpenAI's request: they are read above, and never carried. */
const OPENAI_MEMBERS: ReadonlySet<string> = new Set(
  CreateChatCompletionRequestSchema.fields.map((field) => field.name),
);

/** Adds the caller's own members to ours; only `output_config` may be in both. */
function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(extra)) {
    if (name === '__proto__' || OPENAI_MEMBERS.has(name)) continue;
    const ours = body[name];
    if (ours === undefined) body[name] = value;
    else if (name === 'output_config' && isObject(ours) && isObject(value))
      body[name] = { ...ours, ...value };
    else throw invalidField(name, 'is given twice, in the words of OpenAI and of the provider');
  }
  return body;
}

function betaHeader(betas: unknown, options: Target['options']): string {
  if (!Array.isArray(betas) || !betas.every((beta) => typeof beta === 'string' && BETA.test(beta))) {
    throw invalidField('betas', 'must be an array of names');
  }
  return [...(options.anthropic_beta ? [options.anthropic_beta] : []), ...betas].join(',');
}

function defined(members: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject {
  const json: JsonObject = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) json[name] = value;
  }
  return json;
}
