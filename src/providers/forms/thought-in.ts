// What a model thought, in members of a message that OpenAI does not have.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, textOf } from '../json-object.ts';

/**
 * The thoughts in a message's or a piece's further members: `reasoning` (Groq, Cerebras, OpenRouter, Ollama), else the
 * texts and summaries of `reasoning_details` (OpenRouter, MiniMax). Undefined: none.
 */
export function thoughtIn(extra: JsonObject | undefined): string | undefined {
  if (extra === undefined) return undefined;
  const plain = textOf(extra.reasoning);
  if (plain !== undefined || !Array.isArray(extra.reasoning_details)) return plain;
  return textOf(
    arrayOf(extra.reasoning_details)
      .map((detail) => (isObject(detail) ? (textOf(detail.text) ?? textOf(detail.summary) ?? '') : ''))
      .join(''),
  );
}
