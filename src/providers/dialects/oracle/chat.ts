// Chat completions (Oracle Cloud API reference, "Chat").
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, Outbound, StreamingOperation, Target } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { cohereRequest, isCohere } from './cohere.ts';
import { chatRequest } from './request.ts';
import { readCompletion } from './response.ts';
import { OracleStream } from './stream.ts';

const VERSION = '20231130';
const JSON_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request, { target }) => call(request, target, false),
    response: (body, request, context) => readCompletion(json, body, context, request.model ?? ''),
    streamRequest: (request, { target }) => call(request, target, true),
    stream: (request, context) => new OracleStream(json, context, request),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}

/** @throws GatewayError `validation_failed` where the service cannot express the request. */
function call(request: CreateChatCompletionRequest, { options }: Target, stream: boolean): Outbound {
  const {
    oracle_compartment_id: compartment,
    oracle_tenancy: tenancy = '',
    oracle_serving_mode: mode = 'ON_DEMAND',
    oracle_api_version: version = VERSION,
  } = options;
  const model = request.model ?? '';
  const isDedicated = /^dedicated$/i.test(mode) || model.startsWith('ocid1.generativeaiendpoint.');
  const body = {
    // A tenancy is its own root compartment.
    compartmentId: compartment || tenancy,
    servingMode: isDedicated
      ? { servingType: 'DEDICATED', endpointId: model }
      : { servingType: 'ON_DEMAND', modelId: model },
    chatRequest: isCohere(model) ? cohereRequest(request, stream) : chatRequest(request, stream),
  };
  return {
    method: 'POST',
    path: `/${encodeURIComponent(version)}/actions/chat`,
    headers: stream ? SSE_TYPES : JSON_TYPES,
    body: JSON.stringify(body),
  };
}
