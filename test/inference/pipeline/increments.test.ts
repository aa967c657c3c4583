// The pieces of text in each API's stream events, as a guard is told them.
import test from 'ava';
import { pieceForm } from '../../../src/inference/pipeline/pieces/piece-forms.ts';
import { OPERATIONS } from '../../../src/providers/operations.ts';
import { codec } from '../../../src/rest/codec.ts';

type Streamed = 'chat' | 'completions' | 'responses' | 'messages';

const CASES: readonly (readonly [Streamed, object, readonly object[]])[] = [
  ['chat', { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }, []],
  [
    'chat',
    {
      choices: [
        { index: 1, delta: { content: 'a' } },
        { index: 0, delta: { reasoning_content: 'r', refusal: 'no' } },
      ],
    },
    [
      { unit: 1, kind: 'content', text: 'a' },
      { unit: 0, kind: 'content', text: 'no' },
      { unit: 0, kind: 'reasoning', text: 'r' },
    ],
  ],
  [
    'chat',
    {
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 2, id: 'c', function: { name: 'f', arguments: '' } }] } },
      ],
    },
    [{ unit: 0, kind: 'tool_call', call: 2, name: 'f', text: '' }],
  ],
  [
    'chat',
    { choices: [{ index: 0, delta: { tool_calls: [{ index: 2, function: { arguments: '{"a' } }] } }] },
    [{ unit: 0, kind: 'tool_call', call: 2, text: '{"a' }],
  ],
  [
    'chat',
    { choices: [{ index: 0, delta: { function_call: { name: 'f', arguments: '{' } } }] },
    [{ unit: 0, kind: 'tool_call', call: -1, name: 'f', text: '{' }],
  ],
  ['chat', { choices: [], usage: {} }, []],
  ['completions', { choices: [{ index: 1, text: 'b' }] }, [{ unit: 1, kind: 'content', text: 'b' }]],
  [
    'responses',
    { type: 'response.output_text.delta', delta: 'x' },
    [{ unit: 0, kind: 'content', text: 'x' }],
  ],
  [
    'responses',
    { type: 'response.reasoning_summary_text.delta', delta: 'x' },
    [{ unit: 0, kind: 'reasoning', text: 'x' }],
  ],
  [
    'responses',
    {
      type: 'response.output_item.added',
      output_index: 3,
      item: { type: 'function_call', name: 'f', arguments: '' },
    },
    [{ unit: 0, kind: 'tool_call', call: 3, name: 'f', text: '' }],
  ],
  [
    'responses',
    { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{' },
    [{ unit: 0, kind: 'tool_call', call: 3, text: '{' }],
  ],
  ['responses', { type: 'response.completed', response: { output: [] } }, []],
  ['messages', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, []],
  [
    'messages',
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', name: 'f', input: {} } },
    [{ unit: 0, kind: 'tool_call', call: 1, name: 'f', text: '' }],
  ],
  [
    'messages',
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
    [{ unit: 0, kind: 'content', text: 'x' }],
  ],
  [
    'messages',
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'x' } },
    [{ unit: 0, kind: 'reasoning', text: 'x' }],
  ],
  [
    'messages',
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{' } },
    [{ unit: 0, kind: 'tool_call', call: 1, text: '{' }],
  ],
  ['messages', { type: 'message_stop' }, []],
];

test('every kind of event', (t) => {
  for (const [api, event, expected] of CASES) {
    const piece = codec.decode(OPERATIONS[api].chunk, event);
    const found = pieceForm(api).increments(piece);
    t.deepEqual(found as object[], expected as object[], JSON.stringify(event));
  }
});
