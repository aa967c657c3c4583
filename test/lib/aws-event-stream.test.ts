// AWS's binary frames, written by AWS's own codec: cut anywhere, broken anywhere.
import test from 'ava';
import { AwsEventStreamParser } from '../../src/lib/aws-event-stream.ts';
import { frame, framed } from '../providers/support/aws-frames.ts';

const BYTES = framed([
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { delta: { text: 'ö👋' } }],
  ['throttlingException', { message: 'slow' }, 'exception'],
]);
const EVENTS = [
  { event: 'messageStart', data: '{"role":"assistant"}' },
  { event: 'contentBlockDelta', data: '{"delta":{"text":"ö👋"}}' },
  { event: 'exception:throttlingException', data: '{"message":"slow"}' },
];

test('the events are the same however the bytes are cut', (t) => {
  for (let at = 0; at <= BYTES.length; at += 1) {
    const parser = new AwsEventStreamParser();
    const events = [
      ...parser.push(BYTES.subarray(0, at)),
      ...parser.push(BYTES.subarray(at)),
      ...parser.end(),
    ];
    t.deepEqual(events, EVENTS, `cut behind byte ${at}`);
  }
  const parser = new AwsEventStreamParser();
  t.deepEqual(
    [...BYTES].flatMap((byte) => parser.push(Uint8Array.of(byte))),
    EVENTS,
  );
});

test('a byte that is wrong is never passed on as an event', (t) => {
  const first = frame('messageStart', '{"role":"assistant"}');
  for (let at = 0; at < first.length; at += 1) {
    const broken = Buffer.from(first);
    broken[at] = (broken[at] ?? 0) ^ 0x41;
    const parser = new AwsEventStreamParser();
    let events: unknown[] = [];
    try {
      events = [...parser.push(broken), ...parser.end()];
    } catch (error) {
      t.regex(String(error), /the event stream is broken/);
    }
    t.deepEqual(events, [], `byte ${at}`);
  }
});

test('events before a broken frame are given, then the error, again and again', (t) => {
  const parser = new AwsEventStreamParser();
  const broken = Buffer.from(BYTES);
  broken[BYTES.length - 1] = (broken[BYTES.length - 1] ?? 0) ^ 1;
  t.deepEqual(parser.push(broken), EVENTS.slice(0, 2));
  t.throws(() => parser.push(Buffer.alloc(0)), { message: /a checksum is wrong/ });
  t.throws(() => parser.end(), { message: /a checksum is wrong/ });
});

test('a frame over the bound is refused by its prelude', (t) => {
  const long = frame('contentBlockDelta', JSON.stringify({ text: 'x'.repeat(5000) }));
  const parser = new AwsEventStreamParser(1024);
  t.throws(() => parser.push(long.subarray(0, 12)), { message: /a frame is over 1024 bytes/ });
});

test('a frame that is cut off is no event', (t) => {
  const parser = new AwsEventStreamParser();
  t.deepEqual(parser.push(BYTES.subarray(0, -1)), EVENTS.slice(0, 2));
  t.deepEqual(parser.end(), []);
});
