// A whole answer of Converse in the form of a streamed one.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';

/** Each block in one piece. */
export function wholeAsEvents(answer: JsonObject): JsonObject[] {
  const { output, stopReason, ...metadata } = answer;
  const blocks = arrayOf(objectOf(objectOf(output)?.message)?.content).filter(isObject);
  return [
    { messageStart: { role: 'assistant' } },
    ...blocks.flatMap((block, contentBlockIndex): JsonObject[] => [
      ...begunBy(block, contentBlockIndex),
      ...deltasOf(block).map((delta) => ({ contentBlockDelta: { delta, contentBlockIndex } })),
      { contentBlockStop: { contentBlockIndex } },
    ]),
    { messageStop: { stopReason: stopReason ?? 'end_turn' } },
    { metadata },
  ];
}

function begunBy({ toolUse }: JsonObject, contentBlockIndex: number): JsonObject[] {
  if (!isObject(toolUse)) return [];
  const { input: _, ...start } = toolUse;
  return [{ contentBlockStart: { start: { toolUse: start }, contentBlockIndex } }];
}

function deltasOf({ text, toolUse, reasoningContent }: JsonObject): JsonObject[] {
  if (typeof text === 'string') return [{ text }];
  if (isObject(toolUse)) return [{ toolUse: { input: JSON.stringify(toolUse.input ?? {}) } }];
  const { reasoningText, redactedContent } = objectOf(reasoningContent) ?? {};
  if (redactedContent !== undefined) return [{ reasoningContent: { redactedContent } }];
  const { text: thought, signature } = objectOf(reasoningText) ?? {};
  return [
    ...(thought === undefined ? [] : [{ reasoningContent: { text: thought } }]),
    ...(signature === undefined ? [] : [{ reasoningContent: { signature } }]),
  ];
}
