// Chat completions by the wire of the model's maker: generateContent, Anthropic's Messages and Mistral's chat over
// rawPredict, and chat completions as they are.

import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import { mistralAi } from '../../catalog/mistral-ai.ts';
import type { MessageJson, Outbound, Target, TranslationContext } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { chat as anthropicChat } from '../anthropic/chat.ts';
import { LEFT_OUT as ANTHROPIC_LEFT_OUT } from '../anthropic/refusals.ts';
import { messagesBody, messagesHeaders } from '../anthropic/request.ts';
import { chat as geminiChat } from '../gemini/chat.ts';
import { LEFT_OUT as GEMINI_LEFT_OUT } from '../gemini/refusals.ts';
import { generateCall } from '../gemini/request.ts';
import { tellLeftOut } from '../left-out.ts';
import { chat as openAiChat } from '../openai/chat.ts';
import { type Chat, wantsUsage } from '../translated-chat.ts';
import { rawPredictPath, type ServedModel, servedModel, type Wire } from './served-model.ts';

/** Anthropic's API of Vertex AI ("Use Anthropic's Claude models"): the version is a member of the body. */
export const ANTHROPIC_VERSION = 'vertex-2023-10-16';

/** The operation over the given JSON. */
export function chat(json: MessageJson): Chat {
  const openai = openAiChat(json);
  const wires: Readonly<Record<Wire, Chat>> = {
    gemini: geminiChat(json),
    anthropic: anthropicChat(json),
    mistral: openai,
    openai,
  };
  const wireOf = ({ model = '' }: CreateChatCompletionRequest): Chat => wires[servedModel(model).wire];
  const call: CallOf = (request, context, stream) => {
    const served = servedModel(request.model ?? '');
    const named = { ...request, model: served.model };
    switch (served.wire) {
      case 'gemini':
        tellLeftOut(context, request, GEMINI_LEFT_OUT, ['images']);
        return generateCall(named, stream, served.path);
      case 'anthropic':
        tellLeftOut(context, request, ANTHROPIC_LEFT_OUT, ['strict']);
        return anthropicCall(named, served, context.target, stream);
      default:
        return openAiCall(openai, named, served, context, stream);
    }
  };
  return {
    request: (request, context) => call(request, context, false),
    streamRequest: (request, context) => call(request, context, true),
    response: (body, request, context) => wireOf(request).response(body, request, context),
    stream: (request, context) => wireOf(request).stream(request, speakingOf(request, context)),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, wantsUsage(request)),
  };
}

type CallOf = (
  request: CreateChatCompletionRequest,
  context: TranslationContext,
  stream: boolean,
) => Outbound;

function anthropicCall(
  request: CreateChatCompletionRequest,
  served: ServedModel,
  { options }: Target,
  stream: boolean,
): Outbound {
  const { body, betas } = messagesBody(request, stream);
  const { model: _, ...rest } = body;
  return {
    method: 'POST',
    path: rawPredictPath(served, stream),
    headers: messagesHeaders(betas, options, stream),
    body: jsonBody({ anthropic_version: ANTHROPIC_VERSION, ...rest }),
  };
}

/** A copy of the request has no text of its own, so that it is written anew with the model's other name. */
function openAiCall(
  openai: Chat,
  request: CreateChatCompletionRequest,
  served: ServedModel,
  context: TranslationContext,
  stream: boolean,
): Outbound {
  // The endpoint's path says which model it is.
  if (request.model === '') delete request.model;
  const spoken = served.wire === 'mistral' ? asMistral(context) : context;
  const outbound = stream ? openai.streamRequest(request, spoken) : openai.request(request, spoken);
  const path = served.wire === 'mistral' ? rawPredictPath(served, stream) : served.path;
  return { ...outbound, path };
}

function speakingOf(
  { model = '' }: CreateChatCompletionRequest,
  context: TranslationContext,
): TranslationContext {
  return servedModel(model).wire === 'mistral' ? asMistral(context) : context;
}

/** Mistral's own names of members, and its refusal of `stream_options`, are the same wherever its models are served. */
function asMistral(context: TranslationContext): TranslationContext {
  const { target } = context;
  const { streamUsage, renames } = mistralAi;
  const provider = { ...target.provider, streamUsage, ...(renames === undefined ? {} : { renames }) };
  return { ...context, target: { ...target, provider } };
}
