// A whole message in the form of a streamed one: for providers that answer a streamed request whole, for cached answers
// and for those that guardrails held.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { NO_USAGE } from './words.ts';

/** Each block in one piece. */
export function wholeAsEvents(message: JsonObject): JsonObject[] {
  const { content, stop_reason: reason, stop_sequence: sequence, usage, ...head } = message;
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  const counts = objectOf(usage) ?? NO_USAGE;
  return [
    {
      type: 'message_start',
      message: {
        ...head,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...counts, output_tokens: 0 },
      },
    },
    ...blocks.flatMap((block, index): JsonObject[] => [
      { type: 'content_block_start', index, content_block: begun(block) },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: reason ?? null, stop_sequence: sequence ?? null },
      usage: counts,
    },
    { type: 'message_stop' },
  ];
}

const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);

function begun(block: JsonObject): JsonObject {
  if (block.type === 'text') return { ...withoutCitations(block), text: '' };
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
  return CALLS.has(block.type) ? { ...block, input: {} } : block;
}

function withoutCitations({ citations: _, ...block }: JsonObject): JsonObject {
  return block;
}

function deltasOf(block: JsonObject): JsonObject[] {
  const { type, text, thinking, signature, input, citations } = block;
  if (type === 'text') {
    const cited = Array.isArray(citations) ? citations : [];
    return [
      ...(textOf(text) === undefined ? [] : [{ type: 'text_delta', text: text! }]),
      ...cited.map((citation) => ({ type: 'citations_delta', citation })),
    ];
  }
  if (type === 'thinking')
    return [
      ...(textOf(thinking) === undefined ? [] : [{ type: 'thinking_delta', thinking: thinking! }]),
      ...(textOf(signature) === undefined ? [] : [{ type: 'signature_delta', signature: signature! }]),
    ];
  if (!CALLS.has(type)) return [];
  return [{ type: 'input_json_delta', partial_json: JSON.stringify(input ?? {}) }];
}
