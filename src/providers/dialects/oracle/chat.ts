// Chat completions (Oracle Cloud API reference, "Chat").
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { MessageJson, Outbound, TranslationContext } from '../../dialect.ts';
import { given } from '../../json-object.ts';
import { pathSegment } from '../../path-segment.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { type LeftOut, tellLeftOut } from '../left-out.ts';
import { type Chat, wantsUsage } from '../translated-chat.ts';
import { cohereRequest, isCohere } from './cohere.ts';
import { chatRequest } from './request.ts';
import { readCompletion } from './response.ts';
import { OracleStream } from './stream.ts';

/** What would not change the answer, of both formats and of Cohere's alone. */
const LEFT_OUT: LeftOut = ['store', 'user', 'safety_identifier', 'prompt_cache_key'];
const COHERE_LEFT_OUT: LeftOut = [
  ...LEFT_OUT,
  ...['metadata', 'prediction', 'service_tier', 'reasoning_effort', 'thinking'],
];
/** OpenAI's members are read elsewhere, and never carried. */
const OPENAI_MEMBERS: ReadonlySet<string> = new Set([
  ...CreateChatCompletionRequestSchema.fields.map((field) => field.name),
  'top_k',
]);
const VERSION = '20231130';
const JSON_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  return {
    request: (request, context) => call(request, context, false),
    response: (body, request, context) => readCompletion(json, body, context, request.model ?? ''),
    streamRequest: (request, context) => call(request, context, true),
    stream: (request, context) => new OracleStream(json, context, request),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, wantsUsage(request)),
  };
}

/** @throws GatewayError `validation_failed` where the service cannot express the request. */
function call(request: CreateChatCompletionRequest, context: TranslationContext, stream: boolean): Outbound {
  const model = request.model ?? '';
  const cohere = isCohere(model);
  tellLeftOut(context, request, cohere ? COHERE_LEFT_OUT : LEFT_OUT, cohere ? [] : ['detail']);
  const { options } = context.target;
  const {
    oracle_compartment_id: compartment,
    oracle_tenancy: tenancy = '',
    oracle_serving_mode: mode = 'ON_DEMAND',
    oracle_api_version: version = VERSION,
  } = options;
  const isDedicated = /^dedicated$/i.test(mode) || model.startsWith('ocid1.generativeaiendpoint.');
  const body = {
    // A tenancy is its own root compartment.
    compartmentId: compartment || tenancy,
    servingMode: isDedicated
      ? { servingType: 'DEDICATED', endpointId: model }
      : { servingType: 'ON_DEMAND', modelId: model },
    chatRequest: withExtra(request, cohere ? cohereRequest(request, stream) : chatRequest(request, stream)),
  };
  return {
    method: 'POST',
    path: `/${pathSegment(version)}/actions/chat`,
    headers: stream ? SSE_TYPES : JSON_TYPES,
    body: jsonBody(body),
  };
}

/** The caller's own members, in Oracle's spelling (`isEcho`, `documents`, …). */
function withExtra(request: CreateChatCompletionRequest, body: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(given(request.extra) ?? {})) {
    if (name === '__proto__' || OPENAI_MEMBERS.has(name)) continue;
    if (Object.hasOwn(body, name))
      throw invalidField(name, 'is given twice, in the words of OpenAI and of the provider');
    body[name] = value;
  }
  return body;
}
