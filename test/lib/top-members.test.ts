// Members at the top of a JSON text, however its bytes are cut: the same as JSON.parse finds.
import test from 'ava';
import fc from 'fast-check';
import { type TopMember, TopMembers } from '../../src/lib/top-members.ts';

function read(text: string, sizes: readonly number[], most = 1_000_000): TopMember[] {
  const found: TopMember[] = [];
  const reader = new TopMembers(
    () => true,
    most,
    (member) => found.push(member),
  );
  const bytes = Buffer.from(text);
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : Math.max(1, sizes[i % sizes.length]!);
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  return found;
}

test('every member of any object, however it is written and cut', (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.constantFrom(undefined, 1, '\t'),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 5 }),
      (object, indent, sizes) => {
        const text = JSON.stringify(object, undefined, indent);
        const bytes = Buffer.from(text);
        const found = read(text, sizes);
        const names = Object.keys(JSON.parse(text) as object);
        t.deepEqual(
          found.map(({ name }) => name),
          names,
        );
        for (const { name, start, end, bytes: value } of found) {
          t.is(value!.toString(), bytes.subarray(start, end).toString());
          t.deepEqual(JSON.parse(value!.toString()), (JSON.parse(text) as Record<string, unknown>)[name]);
        }
      },
    ),
  );
});

test('the objects of a list, each with its number; what is no object is passed over', (t) => {
  const text = '[ {"a": 1}, "}{", [[{"a": 2}]], {"a": {"a": 3}, "b": "]"} ,{}, {"a":4}]';
  for (const sizes of [[], [1], [3, 2]])
    t.deepEqual(
      read(text, sizes).map(({ name, item, bytes }) => [name, item, bytes!.toString()]),
      [
        ['a', 0, '1'],
        ['a', 1, '{"a": 3}'],
        ['b', 1, '"]"'],
        ['a', 3, '4'],
      ],
    );
});

test('repeated and escaped names are all told, long values without their bytes', (t) => {
  const text = `\u{feff}{"mod\\u0065l":"x","model":"${'y'.repeat(50)}","model":null}`;
  for (const sizes of [[], [1], [7]]) {
    const found = read(text, sizes, 20);
    t.deepEqual(
      found.map(({ name, bytes }) => [name, bytes?.toString()]),
      [
        ['model', '"x"'],
        ['model', undefined],
        ['model', 'null'],
      ],
    );
    const [, second] = found;
    t.is(Buffer.from(text).subarray(second!.start, second!.end).toString(), `"${'y'.repeat(50)}"`);
  }
});

test('what is no object and no list has none', (t) => {
  for (const text of ['', '  ', '"{}"', '12', 'model=x', '\u0000{"a":1}', '{a:1}']) {
    t.deepEqual(read(text, [1]), []);
  }
});
