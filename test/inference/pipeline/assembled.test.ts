// A streamed answer put together again.
import test from 'ava';
import fc from 'fast-check';
import { AssembledChoices } from '../../../src/inference/pipeline/pieces/assembled-choices.ts';

const HEAD = { id: 'c1', created: 7n, model: 'm' };

test('any cutting of content and arguments into pieces gives the same whole', (t) => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fc.array(fc.string()), (texts, parts) => {
      const answer = new AssembledChoices();
      for (const content of texts) answer.push({ ...HEAD, choices: [{ index: 0, delta: { content } }] });
      answer.push({
        ...HEAD,
        choices: [{ delta: { toolCalls: [{ index: 0, id: 't', function: { name: 'f' } }] } }],
      });
      for (const given of parts)
        answer.push({
          ...HEAD,
          choices: [{ delta: { toolCalls: [{ index: 0, function: { arguments: given } }] } }],
        });
      answer.push({ ...HEAD, choices: [{ index: 0, delta: {}, finishReason: 'tool_calls' }] });
      const { choices } = JSON.parse(answer.json()) as { choices: object[] };
      const content = texts.join('');
      t.deepEqual(choices, [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: content === '' ? null : content,
            tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: parts.join('') } }],
          },
          finish_reason: 'tool_calls',
        },
      ]);
    }),
    { numRuns: 100 },
  );
});

test('text completions, several choices and nothing at all', (t) => {
  const answer = new AssembledChoices();
  answer.push({ ...HEAD, choices: [{ index: 1, text: 'b' }] });
  answer.push({ ...HEAD, choices: [{ index: 0, text: 'a', finishReason: 'stop' }] });
  t.deepEqual(JSON.parse(answer.json()), {
    id: 'c1',
    object: 'text_completion',
    created: 7,
    model: 'm',
    choices: [
      { index: 0, text: 'a', finish_reason: 'stop' },
      { index: 1, text: 'b', finish_reason: null },
    ],
  });
  t.deepEqual((JSON.parse(new AssembledChoices().json()) as { choices: unknown }).choices, []);
});
