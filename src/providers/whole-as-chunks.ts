// Whole answers in the form of streamed ones: for a provider that answers a streamed
// request whole, and for answers from a cache. Nothing is cut up artificially.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatChoice,
  type ChatChunkChoiceSchema,
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Completion, CompletionSchema } from '../../gen/gateway/inference/v2/completions_pb.ts';

type ChunkChoice = MessageInitShape<typeof ChatChunkChoiceSchema>;

/** A chat completion as chunks: per choice its role and content, its tool calls, its end; then the usage. */
export function chatAsChunks(answer: ChatCompletion, includeUsage: boolean): readonly ChatCompletionChunk[] {
  const chunk = (choices: ChunkChoice[], usage?: ChatCompletion['usage']): ChatCompletionChunk =>
    create(ChatCompletionChunkSchema, {
      id: answer.id,
      object: 'chat.completion.chunk',
      created: answer.created,
      model: answer.model,
      systemFingerprint: answer.systemFingerprint,
      serviceTier: answer.serviceTier,
      extra: answer.extra,
      choices,
      usage,
    });
  const chunks = answer.choices.flatMap((choice) => choicePieces(choice).map((piece) => chunk([piece])));
  if (includeUsage && answer.usage) chunks.push(chunk([], answer.usage));
  return chunks;
}

function choicePieces({ index, message, finishReason, logprobs, extra }: ChatChoice): ChunkChoice[] {
  const pieces: ChunkChoice[] = [
    {
      index,
      logprobs,
      delta: {
        role: message?.role || 'assistant',
        content: message?.content,
        refusal: message?.refusal,
        functionCall: message?.functionCall && {
          name: message.functionCall.name,
          arguments: message.functionCall.arguments,
          extra: message.functionCall.extra,
        },
        reasoningContent: message?.reasoningContent,
        contentBlocks: message?.contentBlocks.map((block, i) => ({
          ...block,
          extra: { ...block.extra, index: i },
        })),
        extra: message?.extra,
      },
    },
  ];
  if (message && message.toolCalls.length > 0) {
    const toolCalls = message.toolCalls.map((call, i) => ({
      index: i,
      id: call.id,
      type: call.type,
      function: call.function && {
        name: call.function.name,
        arguments: call.function.arguments,
        extra: call.function.extra,
      },
      extra: call.extra,
    }));
    pieces.push({ index, delta: { toolCalls } });
  }
  pieces.push({ index, delta: {}, finishReason: finishReason ?? 'stop', extra });
  return pieces;
}

/** A text completion as chunks: per choice its text and its end; then the usage. */
export function completionAsChunks(answer: Completion, includeUsage: boolean): readonly Completion[] {
  const chunk = (init: MessageInitShape<typeof CompletionSchema>): Completion =>
    create(CompletionSchema, {
      id: answer.id,
      object: answer.object,
      created: answer.created,
      model: answer.model,
      systemFingerprint: answer.systemFingerprint,
      extra: answer.extra,
      ...init,
    });
  const chunks = answer.choices.flatMap((choice) => [
    chunk({ choices: [{ ...choice, finishReason: undefined }] }),
    chunk({ choices: [{ index: choice.index, text: '', finishReason: choice.finishReason ?? 'stop' }] }),
  ]);
  if (includeUsage && answer.usage) chunks.push(chunk({ choices: [], usage: answer.usage }));
  return chunks;
}
