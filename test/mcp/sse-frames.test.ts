// Events as they come: cut anywhere, with each kind of line end, and long ones in many pieces.
import test from 'ava';
import { type Frame, FrameReader } from '../../src/mcp/wire/sse-frames.ts';

const MOST = 1_000_000;

/** The frames of a text that comes in pieces of some bytes. */
function read(text: string, size: number, most = MOST): Frame[] {
  const reader = new FrameReader(most);
  const bytes = Buffer.from(text);
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; at += size) frames.push(...reader.push(bytes.subarray(at, at + size)));
  return [...frames, ...reader.end()];
}

for (const [name, end] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const)
  test(`lines that end in ${name}, cut at each place, are the same events`, (t) => {
    const lines = [
      ': hello',
      'event: message',
      'id: 7',
      'retry: 10',
      'data: {"a":',
      'data: "é"}',
      '',
      '',
      '',
    ];
    const text = [...lines, 'data: second', '', 'data: without an end'].join(end);
    const whole = read(text, text.length * 2);
    t.deepEqual(whole, [
      { event: 'message', id: '7', retry: '10', data: '{"a":\n"é"}' },
      { data: 'second' },
      { data: 'without an end' },
    ]);
    for (let size = 1; size < 40; size++) t.deepEqual(read(text, size), whole, String(size));
  });

test('a long event in many pieces is one, and one over the bound is refused however it comes', (t) => {
  const long = 'x'.repeat(500_000);
  for (const size of [1000, 65_536, 600_000])
    t.deepEqual(read(`data: ${long}\n\ndata: y\n\n`, size), [{ data: long }, { data: 'y' }]);
  for (const size of [1000, 65_536, 600_000]) {
    const error = t.throws(() => read(`data: ${long}\n\n`, size, 400_000));
    t.regex(error.message, /an event of over 400000 characters/);
  }
  t.is(read('data: z\n\n'.repeat(5000), 20_000, 100).length, 5000, 'many short ones are not one long one');
});
