// Chunks put together as OpenAI's own clients do it (openai-node, ChatCompletionStream).
import type { ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';

/** What a client holds after the last chunk. */
export interface Accumulated {
  role: string | undefined;
  content: string | null;
  reasoning: string | null;
  toolCalls: { id: string; type: string; name: string; arguments: string }[];
  finishReason: string | null;
  usage: ChatCompletionChunk['usage'];
}

/** The first choice of all chunks, and the last usage. */
export function accumulate(chunks: readonly ChatCompletionChunk[]): Accumulated {
  const sum: Accumulated = {
    role: undefined,
    content: null,
    reasoning: null,
    toolCalls: [],
    finishReason: null,
    usage: undefined,
  };
  for (const chunk of chunks) {
    if (chunk.usage) sum.usage = chunk.usage;
    for (const choice of chunk.choices) {
      const { delta } = choice;
      if (choice.finishReason !== undefined) sum.finishReason = choice.finishReason;
      if (delta?.role !== undefined) sum.role = delta.role;
      if (delta?.content !== undefined) sum.content = (sum.content ?? '') + delta.content;
      if (delta?.reasoningContent !== undefined)
        sum.reasoning = (sum.reasoning ?? '') + delta.reasoningContent;
      for (const call of delta?.toolCalls ?? []) {
        sum.toolCalls[call.index] ??= { id: '', type: '', name: '', arguments: '' };
        const held = sum.toolCalls[call.index];
        if (held === undefined) continue;
        held.id = call.id ?? held.id;
        held.type = call.type ?? held.type;
        held.name = call.function?.name ?? held.name;
        held.arguments += call.function?.arguments ?? '';
      }
    }
  }
  return sum;
}
