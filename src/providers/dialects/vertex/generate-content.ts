// generateContent: Google's models have it, the others are asked over their chat; countTokens, which Google's have alone.
import type {
  ContentTokens,
  CountContentTokensRequest,
  GenerateContentRequest,
  GenerateContentResponse,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Operation, StreamingOperation } from '../../dialect.ts';
import { geminiForm } from '../../forms/gemini/form.ts';
import { type ModelAt, nativeCount, nativeGenerate } from '../../forms/gemini/native.ts';
import { overChat } from '../../forms/over-chat.ts';
import { modelPath } from '../../model-path.ts';
import { chat } from './chat.ts';
import { servedModel } from './served-model.ts';

type Generate = StreamingOperation<GenerateContentRequest, GenerateContentResponse, GenerateContentResponse>;

const AT: ModelAt = (name) => {
  const { path, model } = servedModel(name);
  return `${path}/${modelPath(model)}`;
};

/** The operation over the given JSON. */
export function generateContent(json: MessageJson): Generate {
  const native = nativeGenerate(json, AT);
  const translated = overChat(json, geminiForm(json), chat(json));
  const of = ({ model = '' }: GenerateContentRequest): Generate =>
    servedModel(model).wire === 'gemini' ? native : translated;
  return {
    request: (request, context) => of(request).request(request, context),
    streamRequest: (request, context) => of(request).streamRequest(request, context),
    response: (body, request, context) => of(request).response(body, request, context),
    stream: (request, context) => of(request).stream(request, context),
    wholeAsChunks: (answer, request) => of(request).wholeAsChunks(answer, request),
  };
}

/** @throws GatewayError operation_unsupported for models of others */
export function countContentTokens(json: MessageJson): Operation<CountContentTokensRequest, ContentTokens> {
  const native = nativeCount(json, AT);
  return {
    ...native,
    request(request, context) {
      if (servedModel(request.model ?? '').wire === 'gemini') return native.request(request, context);
      const { id } = context.target.provider;
      throw fail('operation_unsupported', `${id} counts the tokens of Google's models alone`, {
        provider: id,
      });
    },
  };
}
