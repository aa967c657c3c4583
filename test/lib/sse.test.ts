import test from 'ava';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { GatewayError } from '../../src/lib/errors.ts';
import { formatSse, type SseEvent, SseParser } from '../../src/lib/sse.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** All events of a stream that comes cut at the given places. */
function parse(stream: Uint8Array, cuts: readonly number[] = [], max?: number): SseEvent[] {
  const parser = new SseParser(max);
  const events: SseEvent[] = [];
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(cut, stream.length);
    // The socket's buffer is used again: the parser must not keep it.
    const piece = Uint8Array.from(stream.subarray(from, to));
    events.push(...parser.push(piece));
    piece.fill(0);
    from = Math.max(from, to);
  }
  events.push(...parser.push(stream.subarray(from)));
  events.push(...parser.end());
  return events;
}

function reference(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => events.push({ event: event ?? 'message', data }),
  });
  parser.feed(text);
  return events;
}

const text = fc.string({
  unit: fc.constantFrom('a', ':', ' ', '{', '"', 'é', '漢', '😀', '\t', '\u0000', 'data'),
});
const line = fc.oneof(
  { weight: 5, arbitrary: text.map((value) => `data: ${value}`) },
  { weight: 1, arbitrary: text.map((value) => `data:${value}`) },
  { weight: 1, arbitrary: text.map((value) => `event: ${value}`) },
  { weight: 1, arbitrary: text.map((value) => `: ${value}`) },
  { weight: 1, arbitrary: text.map((value) => `id: ${value}`) },
  { weight: 1, arbitrary: text },
  fc.constantFrom('data', 'event', 'dat', 'datax: 1', 'events: 1', 'retry: 10', ''),
  { weight: 3, arbitrary: fc.constant('') },
);
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\n', '\n', '\r\n', '\r')), { maxLength: 40 })
  .map((lines) => `${lines.map(([content, end]) => content + end).join('')}\n\n`);

test('says what eventsource-parser says, however the bytes are cut', (t) => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 30 }), (source, cuts) => {
      const whole = parse(bytes(source));
      t.deepEqual(whole, reference(source));
      t.deepEqual(parse(bytes(source), cuts), whole);
    }),
    { numRuns: 1500 },
  );
});

test('byte by byte is the same as whole', (t) => {
  fc.assert(
    fc.property(stream, (source) => {
      const all = bytes(source);
      t.deepEqual(parse(all, Array.from(all.keys())), parse(all));
    }),
    { numRuns: 300 },
  );
});

test('bytes that are not UTF-8 are replaced the same way however they are cut', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(80)), (noise, cuts) => {
      const all = Buffer.concat([bytes('data: '), noise, bytes('\n\n')]);
      t.deepEqual(parse(all, cuts), parse(all));
    }),
    { numRuns: 500 },
  );
});

for (const [name, source, expected] of [
  ['a byte order mark at the start only', '\ufeffdata: a\n\n\ufeffdata: b\n\n', [['message', 'a']]],
  ['several data lines', 'data: a\ndata:b\ndata\n\n', [['message', 'a\nb\n']]],
  [
    'an event name for one event only',
    'event: error\ndata: a\n\ndata: b\n\n',
    [
      ['error', 'a'],
      ['message', 'b'],
    ],
  ],
  ['an event without data', 'event: ping\n\ndata: a\n\n', [['message', 'a']]],
  ['empty data', 'data:\n\n', [['message', '']]],
  ['one space only is taken off', 'data:  a\n\n', [['message', ' a']]],
  [
    'a last event without its blank line',
    'data: a\n\ndata: b',
    [
      ['message', 'a'],
      ['message', 'b'],
    ],
  ],
  ['a last event name without data', 'data: a\n\nevent: x', [['message', 'a']]],
  [
    'carriage returns alone',
    'data: a\rdata: b\r\rdata: c\r\r',
    [
      ['message', 'a\nb'],
      ['message', 'c'],
    ],
  ],
  ['nothing', '', []],
] as const) {
  test(name, (t) => {
    const events = expected.map(([event, data]) => ({ event, data }));
    t.deepEqual(parse(bytes(source)), events);
    t.deepEqual(parse(bytes(source), Array.from(bytes(source).keys())), events);
  });
}

test('an event over the bound is garbage, the events before it are given', (t) => {
  const source = bytes(`data: ok\n\ndata: ${'x'.repeat(100)}\n\n`);
  for (const cuts of [[], [3, 20, 40], Array.from(source.keys())]) {
    const parser = new SseParser(64);
    const events: SseEvent[] = [];
    const error = t.throws(
      () => {
        let from = 0;
        for (const cut of [...cuts, source.length]) {
          events.push(...parser.push(source.subarray(from, cut)));
          from = cut;
        }
        parser.end();
      },
      { instanceOf: GatewayError },
    );
    t.is(error?.reason, 'upstream_garbage');
    t.deepEqual(events, [{ event: 'message', data: 'ok' }]);
  }
});

test('the bound counts all data lines of an event, not those of earlier events', (t) => {
  t.throws(() => parse(bytes(`data: ${'x'.repeat(40)}\ndata: ${'x'.repeat(40)}\n\n`), [], 64));
  t.is(parse(bytes(`data: ${'x'.repeat(40)}\n\n`.repeat(10)), [], 64).length, 10);
});

test('what is formatted is parsed back', (t) => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(undefined, 'error', 'ping'), (data, event) => {
      const back = parse(bytes(formatSse(data, event)));
      t.deepEqual(back, [{ event: event ?? 'message', data: data.replaceAll(/\r\n|\r/g, '\n') }]);
    }),
  );
  t.is(formatSse('[DONE]'), 'data: [DONE]\n\n');
});

test('a line in pieces of one byte holds little more than its bytes, and comes whole', (t) => {
  const parser = new SseParser();
  const before = process.memoryUsage();
  const value = 'x'.repeat(2_000_000);
  for (const byte of bytes(`data: ${value}`)) parser.push(Buffer.of(byte));
  const after = process.memoryUsage();
  t.true(after.heapUsed + after.external - before.heapUsed - before.external < 64 * 1024 * 1024);
  t.deepEqual(parser.push(bytes('\n\n')), [{ event: 'message', data: value }]);
});

test('an event of too many lines is garbage', (t) => {
  const parser = new SseParser();
  t.throws(
    () => {
      for (let i = 0; i < 70; i++) parser.push(bytes('data\n'.repeat(1000)));
    },
    { message: /more than 65536 lines/ },
  );
});

test('an event that is expensive to read is garbage, in one line and in many', (t) => {
  const lines = Array<string>(40).fill(`data: ${'{},'.repeat(5000)}`);
  for (const text of [
    `data: [${'{},'.repeat(200_000)}{}]\n\n`,
    `data: [\n${lines.join('\n')}\ndata: {}]\n\n`,
  ]) {
    const parser = new SseParser();
    const before = parser.push(Buffer.from(`data: first\n\n${text}data: behind\n\n`));
    t.deepEqual(before, [{ event: 'message', data: 'first' }]);
    t.throws(() => parser.push(Buffer.from('data: x\n\n')), { message: /too many members and items/ });
    t.throws(() => parser.end(), { message: /too many members and items/ });
  }
});

test('a long text is no expensive event, up to some megabytes', (t) => {
  const data = JSON.stringify({ b64_json: 'x{,:['.repeat(1_200_000), text: '\n"'.repeat(100_000) });
  t.deepEqual(new SseParser().push(Buffer.from(`data: ${data}\n\n`)), [{ event: 'message', data }]);
});
