// The request of models.generateContent and models.streamGenerateContent (Gemini API reference, "Generating content").
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { Outbound } from '../../dialect.ts';
import { given, isObject } from '../../json-object.ts';
import { modelPath } from '../../model-path.ts';
import { conversation } from './contents.ts';
import { generationConfig } from './generation.ts';
import { googleOptions } from './google-options.ts';
import { refuseInexpressible } from './refusals.ts';
import { toolConfig, toolList } from './tools.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);
const GET_HEADERS = Object.freeze(['accept', 'application/json']);

/** Gemini's own members under the names that callers of OpenAI's API use for them. */
const RENAMED: Readonly<Record<string, string>> = Object.freeze({
  safety_settings: 'safetySettings',
  cached_content: 'cachedContent',
  generation_config: 'generationConfig',
  tool_config: 'toolConfig',
  system_instruction: 'systemInstruction',
});
/** Read into generationConfig, see generation.ts. */
const CONFIG_MEMBERS: ReadonlySet<string> = new Set(['top_k', 'topK', 'extra_body', 'google']);
/** Members of OpenAI's request: they are read elsewhere, and never carried. */
const OPENAI_MEMBERS: ReadonlySet<string> = new Set(
  CreateChatCompletionRequestSchema.fields.map((field) => field.name),
);

/**
 * The call. Members that OpenAI does not have (safety_settings, cached_content, labels, ...) are carried, those that
 * Gemini has under another spelling by its own.
 * @param collection that the model is in
 * @throws GatewayError `validation_failed` where the API cannot express the request.
 */
export function generateCall(
  request: CreateChatCompletionRequest,
  stream: boolean,
  collection = '/models',
): Outbound {
  refuseInexpressible(request);
  const model = modelPath(modelName(request.model ?? ''));
  return {
    method: 'POST',
    path: `${collection}/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: stream ? SSE_HEADERS : JSON_HEADERS,
    body: jsonBody(generateBody(request)),
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

/** Names are taken with and without the collection that they are listed under ("models/gemini-2.5-flash"). */
export function modelName(model: string): string {
  return model.startsWith('models/') ? model.slice('models/'.length) : model;
}

function generateBody(request: CreateChatCompletionRequest): JsonObject {
  const { system, contents } = conversation(request.messages, request.model ?? '');
  const { cachedContent } = googleOptions(request);
  const config = generationConfig(request);
  const tools = toolList(request);
  const choice = toolConfig(request);
  const body: JsonObject = { contents };
  if (system !== undefined) body.systemInstruction = system;
  if (tools !== undefined) body.tools = tools;
  if (choice !== undefined) body.toolConfig = choice;
  if (Object.keys(config).length > 0) body.generationConfig = config;
  if (cachedContent !== undefined) body.cachedContent = cachedContent;
  return withExtra(body, given(request.extra) ?? {});
}

/** Adds the caller's own members to ours; generationConfig and toolConfig may be in both, in either spelling. */
function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  for (const [given, value] of Object.entries(extra)) {
    if (given === '__proto__' || OPENAI_MEMBERS.has(given) || CONFIG_MEMBERS.has(given)) continue;
    const name = Object.hasOwn(RENAMED, given) ? (RENAMED[given] as string) : given;
    const ours = body[name];
    if (ours === undefined) body[name] = value;
    else if ((name === 'generationConfig' || name === 'toolConfig') && isObject(ours) && isObject(value))
      body[name] = { ...ours, ...value };
    else throw invalidField(given, 'is given twice, in the words of OpenAI and of the provider');
  }
  return body;
}
