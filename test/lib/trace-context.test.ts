// W3C Trace Context: what is read, what is as if it were absent, and what is written.
import test from 'ava';
import fc from 'fast-check';
import {
  asTraceId,
  parseTraceparent,
  spanIdOf,
  type TraceContext,
  validTracestate,
  withTraceContext,
} from '../../src/lib/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a traceparent is read', (t) => {
  t.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, sampled: true });
  t.false(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.sampled);
  t.true(parseTraceparent(`00-${TRACE}-${SPAN}-03`)?.sampled);
  // A later version may say more behind what we know.
  t.true(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`)?.sampled);
});

for (const text of [
  '',
  'x',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01 `,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-0g`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `01-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`,
])
  test(`no traceparent: ${text.slice(0, 70)}`, (t) => {
    t.is(parseTraceparent(text), undefined);
  });

test('a tracestate is carried as it came, or not at all', (t) => {
  for (const text of ['a=1', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 't@v=x', 'a=1, b=2', 'a/b=c d'])
    t.is(validTracestate(text), text);
  for (const text of [
    '',
    ',',
    'a',
    'A=1',
    'a=',
    'a=1,a=2',
    'a=b=c',
    'a=1\nb=2',
    Array.from({ length: 33 }, (_, i) => `k${i}=v`).join(','),
    `a=${'x'.repeat(600)}`,
  ])
    t.is(validTracestate(text), undefined, text);
});

test('ids of traces: hexadecimal digits, or a UUID', (t) => {
  t.is(asTraceId(TRACE), TRACE);
  t.is(asTraceId('4BF92F35-77B3-4DA6-A3CE-929D0E0E4736'), TRACE);
  for (const text of [
    '',
    'my-trace',
    '0'.repeat(32),
    'g'.repeat(32),
    '4bf92f35-77b34da6-a3ce-929d-0e0e47363',
  ])
    t.is(asTraceId(text), undefined);
});

test('headers: ours in the place of the caller’s, all others as they were', (t) => {
  const context: TraceContext = {
    traceId: TRACE,
    spanId: SPAN,
    parentSpanId: undefined,
    sampled: true,
    state: 'a=1',
    propagates: true,
  };
  const id = spanIdOf('01234567-89ab-4cde-8f01-23456789abcd');
  t.is(id, '0123456789ab4cde');
  t.deepEqual(withTraceContext(['TraceParent', 'x', 'accept', '*/*', 'tracestate', 'y'], context, id), [
    ...['accept', '*/*', 'traceparent', `00-${TRACE}-${id}-01`, 'tracestate', 'a=1'],
  ]);
  t.deepEqual(withTraceContext([], { ...context, sampled: false, state: undefined }, id), [
    ...['traceparent', `00-${TRACE}-${id}-00`],
  ]);
});

test('nothing that a caller writes is thrown at', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.string({ maxLength: 600 }), fc.string({ unit: 'binary', maxLength: 80 }), (a, b) => {
        for (const text of [a, b, `00-${TRACE}-${SPAN}-${a}`]) {
          const parent = parseTraceparent(text);
          if (parent !== undefined && !/^[0-9a-f]{32}$/.test(parent.traceId)) return false;
          validTracestate(text);
          asTraceId(text);
        }
        return true;
      }),
    ),
  );
});
