import test from 'ava';
import { CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { formJson } from '../../src/rest/form-json.ts';

const read = (...texts: [string, string][]): unknown =>
  JSON.parse(
    JSON.stringify(
      formJson(
        CreateChatCompletionRequestSchema,
        texts.map(([name, value]) => ({ name, value })),
      ),
    ),
  );

test('named members are of their types, others are texts', (t) => {
  t.deepEqual(
    read(
      ['model', '7'],
      ['n', '2'],
      ['stream', 'true'],
      ['stream_options[include_usage]', 'true'],
      ['own', '5'],
      ['tags[]', 'a'],
      ['tags[]', 'b'],
      ['expires_after[anchor]', 'created_at'],
      ['expires_after[seconds]', '3600'],
    ),
    {
      model: '7',
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
      own: '5',
      tags: ['a', 'b'],
      expires_after: { anchor: 'created_at', seconds: '3600' },
    },
  );
});

test('a member is given once, and its name can be read', (t) => {
  for (const texts of [
    [
      ['model', 'a'],
      ['model', 'b'],
    ],
    [['a[b', 'x']],
    [
      ['a', 'x'],
      ['a[b]', 'y'],
    ],
    [
      ['__proto__[x]'.repeat(1), 'y'],
      ['', 'z'],
    ],
  ] as [string, string][][])
    t.throws(() => read(...texts), { instanceOf: GatewayError });
});
