// The same content, whole and streamed, says the same.
import test from 'ava';
import fc from 'fast-check';
import { CreateChatCompletionRequestSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Dialect } from '../../../src/providers/dialect.ts';
import { codec } from '../../../src/rest/codec.ts';
import { accumulate } from '../support/accumulate.ts';
import { dialects } from '../support/golden.ts';
import { contextOf, targetOf } from '../support/target.ts';

const anthropic = dialects.get('anthropic') as Dialect & { chat: NonNullable<Dialect['chat']> };
const request = codec.decodeRequest(CreateChatCompletionRequestSchema, {
  model: 'claude-sonnet-4-5',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true },
});

type Json = Record<string, unknown>;
/** A block as the whole answer has it, and the events that stream it. */
interface Streamed {
  readonly whole: Json;
  readonly start: Json;
  readonly deltas: readonly Json[];
}

const words = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '"', '漢', '😀'), maxLength: 12 });
const cutUp = (text: string, at: readonly number[]): string[] => {
  const marks = [0, ...at.map((n) => n % (text.length + 1)).sort((a, b) => a - b), text.length];
  return marks.slice(1).map((mark, i) => text.slice(marks[i], mark));
};
const cuts = fc.array(fc.nat(40), { maxLength: 4 });

const textBlock = fc.tuple(words, cuts).map(
  ([text, at]): Streamed => ({
    whole: { type: 'text', text },
    start: { type: 'text', text: '' },
    deltas: cutUp(text, at).map((piece) => ({ type: 'text_delta', text: piece })),
  }),
);
const thinkingBlock = fc.tuple(words, cuts).map(
  ([thinking, at]): Streamed => ({
    whole: { type: 'thinking', thinking, signature: 's' },
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...cutUp(thinking, at).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 's' },
    ],
  }),
);
const toolBlock = fc
  .tuple(fc.dictionary(fc.constantFrom('x', 'y', 'é'), words, { maxKeys: 2 }), cuts, fc.nat(99), fc.boolean())
  .map(([input, at, id, silent]): Streamed => {
    const name = { type: 'tool_use', id: `toolu_${id}`, name: 'f' };
    const none = Object.keys(input).length === 0 && silent;
    return {
      whole: { ...name, input },
      start: { ...name, input: {} },
      deltas: none
        ? [{ type: 'input_json_delta', partial_json: '' }]
        : cutUp(JSON.stringify(input), at).map((piece) => ({
            type: 'input_json_delta',
            partial_json: piece,
          })),
    };
  });
const otherBlock = fc.constant<Streamed>({
  whole: { type: 'redacted_thinking', data: 'd' },
  start: { type: 'redacted_thinking', data: 'd' },
  deltas: [],
});
const blocks = fc.array(fc.oneof(textBlock, thinkingBlock, toolBlock, otherBlock), { maxLength: 6 });
const tokens = fc.nat(1000);
const reason = fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal', 'pause_turn', 'a_new_one');

for (const strict of [true, false]) {
  test(`whole and streamed say the same, strict ${strict}`, (t) => {
    const context = contextOf(targetOf('anthropic', { strict }));
    fc.assert(
      fc.property(blocks, reason, tokens, tokens, fc.option(tokens), (list, stop, input, output, cached) => {
        const started = { input_tokens: input, cache_read_input_tokens: cached, output_tokens: 1 };
        const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x' };
        const whole = {
          ...message,
          content: list.map((block) => block.whole),
          stop_reason: stop,
          usage: { ...started, output_tokens: output },
        };
        const read = anthropic.chat.response(Buffer.from(JSON.stringify(whole)), request, context);
        const events: Json[] = [
          { type: 'message_start', message: { ...message, content: [], usage: started } },
          { type: 'ping' },
          ...list.flatMap((block, index) => [
            { type: 'content_block_start', index, content_block: block.start },
            ...block.deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
            { type: 'content_block_stop', index },
          ]),
          { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: output } },
          { type: 'message_stop' },
        ];
        const translator = anthropic.chat.stream(request, context);
        const chunks = events.flatMap((event) =>
          translator.push({ event: String(event.type), data: JSON.stringify(event) }),
        );
        chunks.push(...translator.end());
        t.true(translator.done);
        const seen = accumulate(chunks);
        const choice = read.answer.choices[0];
        t.is(seen.role, 'assistant');
        t.is(seen.content, choice?.message?.content ?? null);
        t.is(seen.reasoning || null, choice?.message?.reasoningContent || null);
        t.is(seen.finishReason, choice?.finishReason ?? null);
        t.deepEqual(
          seen.toolCalls,
          choice?.message?.toolCalls.map((call) => ({
            id: call.id,
            type: call.type,
            name: call.function?.name ?? '',
            arguments: call.function?.arguments ?? '',
          })),
        );
        t.deepEqual(seen.usage, read.answer.usage);
        t.deepEqual(translator.usage(), read.usage);
        for (const chunk of chunks)
          t.like(chunk, { id: 'msg_1', model: 'claude-x', created: 1_700_000_000n });
        const emulated = accumulate(anthropic.chat.wholeAsChunks(read.answer, request));
        t.deepEqual(
          { ...emulated, reasoning: emulated.reasoning || null },
          { ...seen, reasoning: seen.reasoning || null },
        );
      }),
      { numRuns: 300 },
    );
  });
}

test('usage of a pass-through stream comes in parts', (t) => {
  const tap = anthropic.tapUsage(targetOf('anthropic').provider);
  t.is(tap.usage(), undefined);
  tap.push({ type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 7 } } });
  tap.push({ type: 'ping' });
  tap.push('nothing');
  tap.push({ type: 'message_delta', usage: { output_tokens: 3, input_tokens: null } });
  t.like(tap.usage(), { promptTokens: 12n, completionTokens: 3n, totalTokens: 15n });
});
