// The pieces of text in the events of a stream, as messages: none passes a guard unseen.
import test from 'ava';
import { ChatCompletionChunkSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionSchema } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { CHOICES } from '../../../src/inference/pipeline/pieces/choices.ts';
import { codec } from '../../../src/rest/codec.ts';

const chunk = (...choices: object[]) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices,
});

const EVENTS: readonly (readonly [event: object, pieces: readonly object[]])[] = [
  [{ index: 0, delta: { role: 'assistant', content: '' } }, []],
  [{ index: 1, delta: { content: 'a' } }, [{ unit: 1, kind: 'content', text: 'a' }]],
  [{ index: 0, delta: { refusal: 'no' } }, [{ unit: 0, kind: 'content', text: 'no' }]],
  [
    {
      index: 0,
      delta: { content: [{ type: 'text', text: 'a' }, 'b', { type: 'thinking', thinking: [{ text: 'c' }] }] },
    },
    [{ unit: 0, kind: 'content', text: 'abc' }],
  ],
  [
    { index: 0, delta: { audio: { id: 'a', transcript: 'spoken' } } },
    [{ unit: 0, kind: 'content', text: 'spoken' }],
  ],
  [
    { index: 0, delta: { reasoning_content: [{ type: 'text', text: 'r' }] } },
    [{ unit: 0, kind: 'reasoning', text: 'r' }],
  ],
  [
    { index: 0, delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: { a: 'b' } } }] } },
    [{ unit: 0, kind: 'tool_call', call: 0, name: 'f', text: '{"a":"b"}' }],
  ],
  [{ index: 0, delta: { audio: { data: 'AAAA' } } }, []],
  [{ index: 0, delta: { reasoning_content: 'r' } }, [{ unit: 0, kind: 'reasoning', text: 'r' }]],
  [{ index: 0, delta: { reasoning: 'r' } }, [{ unit: 0, kind: 'reasoning', text: 'r' }]],
  [
    { index: 0, delta: { reasoning_details: [{ type: 'reasoning.text', text: 'r', index: 0 }] } },
    [{ unit: 0, kind: 'reasoning', text: 'r' }],
  ],
  [
    { index: 0, delta: { tool_calls: [{ index: 2, id: 'c', function: { name: 'f', arguments: '{"a' } }] } },
    [{ unit: 0, kind: 'tool_call', call: 2, name: 'f', text: '{"a' }],
  ],
  [
    {
      index: 0,
      delta: { tool_calls: [{ index: 1, id: 'c', type: 'custom', custom: { name: 'g', input: 'x' } }] },
    },
    [{ unit: 0, kind: 'tool_call', call: 1, name: 'g', text: 'x' }],
  ],
  [
    { index: 0, delta: { tool_calls: [{ index: 1, custom: { input: 'more' } }] } },
    [{ unit: 0, kind: 'tool_call', call: 1, text: 'more' }],
  ],
  [
    { index: 0, delta: { function_call: { name: 'f', arguments: '{' } } },
    [{ unit: 0, kind: 'tool_call', call: -1, name: 'f', text: '{' }],
  ],
];

for (const [event, pieces] of EVENTS) {
  test(`a chat’s event: ${JSON.stringify(event)}`, (t) => {
    const json = chunk(event);
    const own = CHOICES.increments(codec.decode(ChatCompletionChunkSchema, json));
    t.deepEqual(own as object[], pieces as object[]);
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
  t.deepEqual(CHOICES.increments(codec.decode(CompletionSchema, json)), [
    { unit: 1, kind: 'content', text: 'a' },
  ]);
});
