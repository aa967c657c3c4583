// Frames of a stream, however its bytes are cut: together they are the stream, and each holds one event at the most.
import { randomInt } from 'node:crypto';
import test from 'ava';
import { FrameCutter } from '../../src/inference/raw/stream-frames.ts';
import { framed } from '../providers/support/aws-frames.ts';

function cutUp(bytes: Buffer, framing: 'sse' | 'aws-event-stream', size: () => number) {
  const cutter = new FrameCutter(framing);
  const frames = [];
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + size());
    frames.push(...cutter.push(Buffer.from(bytes.subarray(from, to))));
    from = to;
  }
  return [...frames, ...cutter.end()];
}

for (const [name, end] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const)
  test(`lines that end in ${name}`, (t) => {
    const texts = [
      ': comment',
      `event: a${end}data: 1`,
      'data: 2 👋',
      `data: x${end}data: y`,
      '',
      'data: last',
    ];
    const bytes = Buffer.from(texts.map((text) => `${text}${end}${end}`).join(''));
    const whole = cutUp(bytes, 'sse', () => bytes.length);
    t.deepEqual(
      whole.flatMap(({ events }) => events),
      [
        { event: 'a', data: '1' },
        { event: 'message', data: '2 👋' },
        { event: 'message', data: 'x\ny' },
        { event: 'message', data: 'last' },
      ],
    );
    for (const frame of whole) t.true(frame.events.length <= 1);
    t.true(
      Buffer.from(whole.find(({ events }) => events[0]?.data === '1')!.bytes)
        .toString()
        .endsWith(end + end),
    );
    for (let i = 0; i < 200; i++) {
      const frames = cutUp(bytes, 'sse', () => randomInt(1, i < 20 ? 2 : 9));
      t.deepEqual(Buffer.concat(frames.map((frame) => frame.bytes)), bytes);
      t.deepEqual(
        frames.flatMap(({ events }) => events),
        whole.flatMap(({ events }) => events),
      );
      for (const frame of frames) t.true(frame.events.length <= 1);
    }
  });

test('frames of AWS', (t) => {
  const bytes = framed(
    Array.from({ length: 20 }, (_, i) => ['contentBlockDelta', { text: 'x'.repeat(i * 7) }]),
  );
  for (let i = 0; i < 50; i++) {
    const frames = cutUp(bytes, 'aws-event-stream', () => randomInt(1, 40));
    t.is(frames.length, 20);
    t.deepEqual(Buffer.concat(frames.map((frame) => frame.bytes)), bytes);
    for (const frame of frames) t.is(frame.events.length, 1);
  }
});

test('a stream that ends within an event', (t) => {
  const frames = cutUp(Buffer.from('data: 1\n\ndata: 2'), 'sse', () => 100);
  t.deepEqual(
    frames.flatMap(({ events }) => events.map(({ data }) => data)),
    ['1', '2'],
  );
});
