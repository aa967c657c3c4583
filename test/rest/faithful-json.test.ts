// A text may be sent on as it is only when it names each member once, in plain letters.
import test from 'ava';
import fc from 'fast-check';
import { isFaithful } from '../../src/rest/faithful-json.ts';
import { withSlack } from '../support/slack.ts';

interface Written {
  readonly text: string;
  /** Whether some object names a member twice, however it is spelled, or spells one with an escape. */
  readonly doubtful: boolean;
}

const plain = (text: string): Written => ({ text, doubtful: false });
const blanks = fc.constantFrom('', ' ', '\n', '\t\r\n ');
const strings = fc
  .oneof(fc.string(), fc.constantFrom('\\', '"', '\\"', '{"a":1,"a":2}', '\\\\"', ',', '}', ']'))
  .filter((text) => !text.includes('\ufffd'));
const names = fc.constantFrom('a', 'b', 'c', 'model', '"', 'x\\');

const spelled = (name: string, escaped: boolean): string =>
  escaped
    ? `"${[...name].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(name);

const { value: texts } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .oneof(strings, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null))
      .map((leaf) => plain(JSON.stringify(leaf))),
    fc.tuple(fc.array(tie('value'), { maxLength: 3 }), blanks).map(([items, blank]) => ({
      text: `[${blank}${items.map(({ text }) => text).join(`${blank},`)}]`,
      doubtful: items.some(({ doubtful }) => doubtful),
    })),
    fc
      .tuple(fc.array(fc.tuple(names, fc.boolean(), tie('value')), { maxLength: 3 }), blanks)
      .map(([members, blank]) => ({
        text: `{${members.map(([name, escaped, { text }], i) => `${blank}${spelled(name, escaped && i === 2)}${blank}:${text}`).join(',')}}`,
        doubtful:
          new Set(members.map(([name]) => name)).size < members.length ||
          members.some(([name, escaped], i) => (escaped && i === 2) || JSON.stringify(name).includes('\\')) ||
          members.some(([, , { doubtful }]) => doubtful),
      })),
  ),
}));

test('what is doubtful is told, what is not is let through', (t) => {
  let faithful = 0;
  let doubtful = 0;
  fc.assert(
    fc.property(texts, (written) => {
      JSON.parse(written.text);
      t.is(isFaithful(written.text), !written.doubtful, written.text);
      if (written.doubtful) doubtful++;
      else faithful++;
    }),
    { numRuns: 2000 },
  );
  t.true(faithful > 100 && doubtful > 50, `${faithful} ${doubtful}`);
});

test('what JSON.stringify writes is faithful unless a name needs an escape', (t) => {
  fc.assert(
    fc.property(
      fc.jsonValue().filter((value) => !/\\|\ufffd/.test(JSON.stringify(value))),
      (value) => {
        t.true(isFaithful(JSON.stringify(value)));
        t.true(isFaithful(JSON.stringify(value, null, 2)));
      },
    ),
  );
});

test('long objects, many names and great depth are told as short ones are', (t) => {
  const many = (count: number, last: string): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]))).replace(
      /\}$/,
      `,"${last}":0}`,
    );
  for (const count of [1, 22, 23, 24, 25, 60, 600]) {
    t.true(isFaithful(many(count, 'other')), String(count));
    t.false(isFaithful(many(count, 'n0')), String(count));
    t.false(isFaithful(many(count, `n${count - 1}`)), String(count));
    t.false(isFaithful(many(count, 'n\\u0030')), String(count));
  }
  for (const depth of [1, 30, 62, 63, 64, 65, 500]) {
    const nested = (inner: string): string => `${'{"a":['.repeat(depth)}${inner}${']}'.repeat(depth)}`;
    t.true(isFaithful(nested('{"a":1,"b":2}')), String(depth));
    t.false(isFaithful(nested('{"a":1,"a":2}')), String(depth));
    t.false(isFaithful(`${nested('1').slice(0, -1)},"b":1,"a":2}`), String(depth));
  }
  const wide = Array.from({ length: 40 }, (_, i) => `{"a${i}":{"b":${many(20, 'x')}}}`).join(',');
  t.true(isFaithful(`[${wide}]`));
  t.false(isFaithful(`[${wide},{"a":1,"a":1}]`));
});

test('a long prompt costs little', (t) => {
  const text = JSON.stringify({ a: '\\"'.repeat(2_000_000), b: 'x'.repeat(4_000_000) });
  const start = performance.now();
  t.true(isFaithful(text));
  t.true(performance.now() - start < withSlack(1000));
  const slashes = `{"a":"${'\\\\'.repeat(200_000)}"}`;
  const again = performance.now();
  t.true(isFaithful(slashes));
  t.true(performance.now() - again < withSlack(1000));
});
