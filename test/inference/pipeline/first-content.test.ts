// The pieces of text in the events of a stream, as messages: none passes a guard unseen.
import test from 'ava';
import { ChatCompletionChunkSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionSchema } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { incrementsOf as ofJson } from '../../../src/checks/stream/increments.ts';
import { CHOICES } from '../../../src/inference/pipeline/pieces/choices.ts';
import { codec } from '../../../src/rest/codec.ts';

const chunk = (...choices: object[]) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices,
});

const EVENTS: readonly object[] = [
  { index: 0, delta: { role: 'assistant', content: '' } },
  { index: 1, delta: { content: 'a' } },
  { index: 0, delta: { refusal: 'no' } },
  {
    index: 0,
    delta: { content: [{ type: 'text', text: 'a' }, 'b', { type: 'thinking', thinking: [{ text: 'c' }] }] },
  },
  { index: 0, delta: { audio: { id: 'a', transcript: 'spoken' } } },
  { index: 0, delta: { reasoning_content: [{ type: 'text', text: 'r' }] } },
  { index: 0, delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: { a: 'b' } } }] } },
  { index: 0, delta: { audio: { data: 'AAAA' } } },
  { index: 0, delta: { reasoning_content: 'r' } },
  { index: 0, delta: { reasoning: 'r' } },
  { index: 0, delta: { reasoning_details: [{ type: 'reasoning.text', text: 'r', index: 0 }] } },
  { index: 0, delta: { tool_calls: [{ index: 2, id: 'c', function: { name: 'f', arguments: '{"a' } }] } },
  {
    index: 0,
    delta: { tool_calls: [{ index: 1, id: 'c', type: 'custom', custom: { name: 'g', input: 'x' } }] },
  },
  { index: 0, delta: { tool_calls: [{ index: 1, custom: { input: 'more' } }] } },
  { index: 0, delta: { function_call: { name: 'f', arguments: '{' } } },
];

for (const event of EVENTS) {
  test(`a chat’s event: ${JSON.stringify(event)}`, (t) => {
    const json = chunk(event);
    const own = CHOICES.increments(codec.decode(ChatCompletionChunkSchema, json));
    t.deepEqual(own, ofJson('chat', json));
  });
}

test('blocks of a provider’s own count where nothing else says them', (t) => {
  const blocks = (delta: object) =>
    CHOICES.increments(codec.decode(ChatCompletionChunkSchema, chunk({ index: 0, delta }))).map(
      ({ kind, text }) => [kind, text],
    );
  t.deepEqual(blocks({ content_blocks: [{ type: 'text', text: 'a' }] }), [['content', 'a']]);
  t.deepEqual(blocks({ content: 'a', content_blocks: [{ type: 'text', text: 'a' }] }), [['content', 'a']]);
  t.deepEqual(blocks({ content_blocks: [{ type: 'thinking', thinking: 'b' }] }), [['reasoning', 'b']]);
});

test('a text completion’s event', (t) => {
  const json = { ...chunk({ index: 1, text: 'a', finish_reason: null }), object: 'text_completion' };
  t.deepEqual(CHOICES.increments(codec.decode(CompletionSchema, json)), ofJson('completions', json));
});
