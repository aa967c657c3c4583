// Messages: Claude's models have the API over rawPredict, the others are asked over their chat.
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateMessageRequest,
  Message,
  MessageEvent,
} from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import { jsonBody, UnwrittenJson } from '../../../lib/json-in-slices.ts';
import type { MessageJson, Outbound, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { messagesForm } from '../../forms/messages/form.ts';
import { messagesCall, nativeMessages } from '../../forms/messages/native.ts';
import { overChat } from '../../forms/over-chat.ts';
import { ANTHROPIC_VERSION, chat } from './chat.ts';
import { rawPredictPath, servedModel } from './served-model.ts';

type Messages = StreamingOperation<CreateMessageRequest, Message, MessageEvent>;

/** The operation over the given JSON. */
export function messages(json: MessageJson): Messages {
  const native = nativeMessages(json);
  const translated = overChat(json, messagesForm(json), chat(json));
  const isClaude = ({ model = '' }: CreateMessageRequest): boolean => servedModel(model).wire === 'anthropic';
  const of = (request: CreateMessageRequest): Messages => (isClaude(request) ? native : translated);
  const call = (request: CreateMessageRequest, context: TranslationContext, stream: boolean): Outbound => {
    const outbound = messagesCall(json, request, context, stream);
    const { model: _, ...body } = jsonIn(outbound.body);
    const path = rawPredictPath(servedModel(request.model ?? ''), stream);
    return { ...outbound, path, body: jsonBody({ anthropic_version: ANTHROPIC_VERSION, ...body }) };
  };
  return {
    request: (request, context) =>
      isClaude(request) ? call(request, context, false) : translated.request(request, context),
    streamRequest: (request, context) =>
      isClaude(request) ? call(request, context, true) : translated.streamRequest(request, context),
    response: (body, request, context) => of(request).response(body, request, context),
    stream: (request, context) => of(request).stream(request, context),
    wholeAsChunks: (answer, request) => of(request).wholeAsChunks(answer, request),
  };
}

function jsonIn(body: Outbound['body']): JsonObject {
  if (body instanceof UnwrittenJson) return body.value as JsonObject;
  return JSON.parse(Buffer.from(body ?? '').toString('utf8')) as JsonObject;
}
