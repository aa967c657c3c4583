// Anthropic's message and its events in Converse's words.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';

const REASONS: Readonly<Record<string, string>> = Object.freeze({
  refusal: 'content_filtered',
  pause_turn: 'max_tokens',
});

/** Converse's answer of a message. How long it took is not known here; readers of its metrics find them. */
export function converseAnswer(message: JsonObject): JsonObject {
  return {
    output: {
      message: { role: 'assistant', content: arrayOf(message.content).filter(isObject).flatMap(blockOf) },
    },
    stopReason: stopWord(message.stop_reason),
    usage: usageOf(objectOf(message.usage)),
    metrics: { latencyMs: 0 },
  };
}

function stopWord(reason: unknown): string {
  const word = typeof reason === 'string' ? reason : 'end_turn';
  return Object.hasOwn(REASONS, word) ? REASONS[word]! : word;
}

/** Blocks that Converse has no words for are none of its answers. */
function blockOf(block: JsonObject): JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ text: block.text ?? '' }];
    case 'tool_use':
      return [{ toolUse: { toolUseId: block.id ?? '', name: block.name ?? '', input: block.input ?? {} } }];
    case 'thinking':
      return [
        {
          reasoningContent: {
            reasoningText: { text: block.thinking ?? '', signature: block.signature ?? '' },
          },
        },
      ];
    case 'redacted_thinking':
      return [{ reasoningContent: { redactedContent: block.data ?? '' } }];
    default:
      return [];
  }
}

function usageOf(usage: JsonObject | undefined): JsonObject {
  const count = (name: string): number => Number(usage?.[name] ?? 0);
  const [input, output] = [count('input_tokens'), count('output_tokens')];
  const [read, written] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + read + written,
    ...(read === 0 && written === 0 ? {} : { cacheReadInputTokens: read, cacheWriteInputTokens: written }),
  };
}

/** Converse's events of one of Anthropic's. @param latencyMs of the call so far */
export function converseEvents(event: JsonObject, latencyMs: () => number): JsonObject[] {
  const contentBlockIndex = typeof event.index === 'number' ? event.index : 0;
  switch (event.type) {
    case 'message_start':
      return [{ messageStart: { role: 'assistant' } }];
    case 'content_block_start': {
      const { type, id, name, data } = objectOf(event.content_block) ?? {};
      if (type === 'redacted_thinking')
        return [
          {
            contentBlockDelta: {
              delta: { reasoningContent: { redactedContent: data ?? '' } },
              contentBlockIndex,
            },
          },
        ];
      // Texts and thoughts begin with their first piece.
      if (type !== 'tool_use') return [];
      return [
        {
          contentBlockStart: {
            start: { toolUse: { toolUseId: id ?? '', name: name ?? '' } },
            contentBlockIndex,
          },
        },
      ];
    }
    case 'content_block_delta': {
      const delta = deltaOf(objectOf(event.delta) ?? {});
      return delta === undefined ? [] : [{ contentBlockDelta: { delta, contentBlockIndex } }];
    }
    case 'content_block_stop':
      return [{ contentBlockStop: { contentBlockIndex } }];
    case 'message_delta':
      return [
        { messageStop: { stopReason: stopWord(objectOf(event.delta)?.stop_reason) } },
        { metadata: { usage: usageOf(objectOf(event.usage)), metrics: { latencyMs: latencyMs() } } },
      ];
    default:
      return [];
  }
}

function deltaOf({
  type,
  text,
  thinking,
  signature,
  partial_json: input,
}: JsonObject): JsonObject | undefined {
  switch (type) {
    case 'text_delta':
      return { text: text ?? '' };
    case 'thinking_delta':
      return { reasoningContent: { text: thinking ?? '' } };
    case 'signature_delta':
      return textOf(signature) === undefined ? undefined : { reasoningContent: { signature: signature! } };
    case 'input_json_delta':
      return { toolUse: { input: input ?? '' } };
    default:
      return undefined;
  }
}
