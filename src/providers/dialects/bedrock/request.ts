// The request of Converse and ConverseStream (Bedrock Runtime API reference, "Converse").
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
import { isClaude, isNova, modelSegment } from './model-id.ts';
import { refuseInexpressible } from './refusals.ts';
import { reasoning } from './thinking.ts';
import { type ToolSettings, toolSettings } from './tools.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const FRAME_HEADERS = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/vnd.amazon.eventstream'],
]);

/** Converse's own members, under the names that callers of OpenAI's API use for them too. */
const OWN: Readonly<Record<string, string>> = Object.freeze({
  guardrailConfig: 'guardrailConfig',
  guardrail_config: 'guardrailConfig',
  promptVariables: 'promptVariables',
  prompt_variables: 'promptVariables',
  requestMetadata: 'requestMetadata',
  request_metadata: 'requestMetadata',
  performanceConfig: 'performanceConfig',
  performance_config: 'performanceConfig',
  additionalModelResponseFieldPaths: 'additionalModelResponseFieldPaths',
  additional_model_response_field_paths: 'additionalModelResponseFieldPaths',
  serviceTier: 'serviceTier',
  inferenceConfig: 'inferenceConfig',
  outputConfig: 'outputConfig',
  output_config: 'outputConfig',
});
const ADDITIONAL = ['additionalModelRequestFields', 'additional_model_request_fields'];
/** Members of OpenAI's request: they are read elsewhere, and never carried. */
const OPENAI_MEMBERS: ReadonlySet<string> = new Set(
  CreateChatCompletionRequestSchema.fields.map((field) => field.name),
);

/**
 * The call. Converse's own members (guardrailConfig, performanceConfig, …) are carried as they are; all other members
 * that OpenAI does not have are the model's, and go to additionalModelRequestFields.
 * @throws GatewayError `validation_failed` where Converse cannot express the request.
 */
export function converseCall(request: CreateChatCompletionRequest, stream: boolean): Outbound {
  refuseInexpressible(request);
  return {
    method: 'POST',
    path: `/model/${modelSegment(request.model ?? '')}/${stream ? 'converse-stream' : 'converse'}`,
    headers: stream ? FRAME_HEADERS : JSON_HEADERS,
    body: jsonBody(converseBody(request)),
  };
}

function converseBody(request: CreateChatCompletionRequest): JsonObject {
  const { system, messages } = conversation(request.messages);
  const tools = toolSettings(request, messages);
  const config = inferenceConfig(request);
  const format = textFormat(request);
  const body: JsonObject = { messages };
  if (system.length > 0) body.system = system;
  if (Object.keys(config).length > 0) body.inferenceConfig = config;
  if (tools.toolConfig !== undefined) body.toolConfig = tools.toolConfig;
  if (format !== undefined) body.outputConfig = { textFormat: format };
  if (request.serviceTier !== undefined && request.serviceTier !== 'auto')
    body.serviceTier = { type: request.serviceTier };
  return withExtra(request, body, tools);
}

function inferenceConfig(request: CreateChatCompletionRequest): JsonObject {
  const tokens = request.maxCompletionTokens ?? request.maxTokens;
  const stop = request.stop?.kind;
  const stopSequences =
    stop?.case === 'text' ? [stop.value] : stop?.case === 'texts' ? stop.value.values : undefined;
  return {
    ...(tokens === undefined ? {} : { maxTokens: Number(tokens) }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { topP: request.topP }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
  };
}

/** Bedrock, "Structured outputs": the schema is a text. */
function textFormat({ responseFormat }: CreateChatCompletionRequest): JsonObject | undefined {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_schema': {
      const { schema, name, description } = responseFormat?.jsonSchema ?? {};
      if (!isObject(schema)) throw invalidField('response_format.json_schema.schema', 'is required');
      const jsonSchema: JsonObject = { schema: JSON.stringify(schema) };
      if (typeof name === 'string') jsonSchema.name = name;
      if (typeof description === 'string') jsonSchema.description = description;
      return { type: 'json_schema', structure: { jsonSchema } };
    }
    default:
      throw invalidField('response_format.type', 'must be "text" or "json_schema" with this provider');
  }
}

/** The caller's own members beside ours. */
function withExtra(request: CreateChatCompletionRequest, body: JsonObject, tools: ToolSettings): JsonObject {
  const model = request.model ?? '';
  const fields: JsonObject = { ...reasoning(request), ...tools.fields };
  for (const [name, value] of Object.entries(given(request.extra) ?? {})) {
    if (name === '__proto__' || OPENAI_MEMBERS.has(name)) continue;
    const own = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
    if (own !== undefined) body[own] = joined(body[own], value, name);
    else if (ADDITIONAL.includes(name)) {
      if (!isObject(value)) throw invalidField(name, 'must be an object');
      for (const [field, given] of Object.entries(value)) fields[field] = joined(fields[field], given, field);
    } else if (isNova(model) && (name === 'top_k' || name === 'topK'))
      fields.inferenceConfig = joined(fields.inferenceConfig, { topK: value }, name);
    else if (isClaude(model) && name === 'betas') fields.anthropic_beta = value;
    else fields[name] = joined(fields[name], value, name);
  }
  if (Object.keys(fields).length > 0) body.additionalModelRequestFields = fields;
  return body;
}

/** Objects are joined; anything else can be said once. */
function joined(ours: JsonValue | undefined, theirs: JsonValue, name: string): JsonValue {
  if (ours === undefined) return theirs;
  if (isObject(ours) && isObject(theirs)) return { ...ours, ...theirs };
  throw invalidField(name, 'is given twice, in the words of OpenAI and of the provider');
}
