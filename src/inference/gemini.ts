// Content, in the shape of Google's Gemini API.
import { create } from '@bufbuild/protobuf';
import {
  type BatchEmbedContentsRequest,
  type ContentTokens,
  ContentTokensSchema,
  type CountContentTokensRequest,
  type EmbedContentRequest,
  type GeminiContent,
  type GenerateContentRequest,
} from '../../gen/gateway/inference/v2/gemini_pb.ts';
import type { Call } from '../call/call.ts';
import { textsIn } from '../ledger/tokens/texts.ts';
import { GatewayError, invalidField } from '../lib/errors.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of GeminiService. */
export function geminiService(pipeline: Pipeline) {
  return {
    generateContent: (request: GenerateContentRequest, call: Call) =>
      runWhole(pipeline, call, 'generateContent', request, request.model),
    streamGenerateContent: (request: GenerateContentRequest, call: Call) =>
      runStream(pipeline, call, 'generateContent', request, request.model),
    async countContentTokens(request: CountContentTokensRequest, call: Call): Promise<ContentTokens> {
      if (request.contents.length === 0 && request.generateContentRequest === undefined)
        throw invalidField('contents', 'is required, or generateContentRequest in its place', 'required');
      try {
        return await runWhole(pipeline, call, 'countContentTokens', request, request.model);
      } catch (thrown) {
        if (!(thrown instanceof GatewayError) || thrown.reason !== 'operation_unsupported') throw thrown;
        return counted(request, pipeline);
      }
    },
    embedContent: (request: EmbedContentRequest, call: Call) =>
      runWhole(pipeline, call, 'embedContent', request, request.model),
    batchEmbedContents: (request: BatchEmbedContentsRequest, call: Call) =>
      runWhole(pipeline, call, 'batchEmbedContents', request, request.model),
  };
}

/** Tokens of an image (Gemini API, "Understand and count tokens"). */
const TOKENS_OF_IMAGE = 258;

async function counted(request: CountContentTokensRequest, { countTexts }: Pipeline): Promise<ContentTokens> {
  const { contents, systemInstruction, tools } = request.generateContentRequest ?? {
    contents: request.contents,
    systemInstruction: undefined,
    tools: undefined,
  };
  const parts = contents.flatMap(partsOf);
  const texts = parts.filter(({ inlineData }) => inlineData === undefined);
  const [tokens = 0] = await countTexts([textsIn([systemInstruction, texts, tools])]);
  const media = (parts.length - texts.length) * TOKENS_OF_IMAGE;
  return create(ContentTokensSchema, { totalTokens: BigInt(tokens + media), estimated: true });
}

function partsOf({ parts }: GeminiContent): GeminiContent['parts'] {
  return parts;
}
