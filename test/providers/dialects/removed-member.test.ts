import test from 'ava';
import fc from 'fast-check';
import { removedMember } from '../../../src/providers/dialects/openai/removed-member.ts';

const value = fc.letrec<{ json: fc.JsonValue }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<fc.JsonValue>(null, true, 1.5, '"usage":null', '\\', '\\"', ',"usage":{}}', 'usage'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('usage', 'a', '"usage"', 'b\\'), tie('json'), { maxKeys: 3 }),
  ) as fc.Arbitrary<fc.JsonValue>,
})).json;
const object = fc.array(fc.tuple(fc.constantFrom('usage', 'a', 'b', '"usage"', 'c\\'), value), {
  maxLength: 5,
});
const space = fc.constantFrom('', ' ', '\n\t');

test('takes out every member of the name and leaves every other byte', (t) => {
  fc.assert(
    fc.property(object, fc.array(space, { minLength: 30, maxLength: 30 }), (members, spaces) => {
      let next = 0;
      const gap = (): string => spaces[next++ % spaces.length] as string;
      const write = (list: typeof members): string =>
        `{${list.map(([name, json]) => `${gap()}${JSON.stringify(name)}${gap()}:${gap()}${JSON.stringify(json)}`).join(',')}}`;
      const text = write(members);
      const result = removedMember(text, 'usage');
      const others = members.filter(([name]) => name !== 'usage');
      if (others.length === members.length) {
        t.is(result, undefined);
        return;
      }
      t.deepEqual(JSON.parse(result as string), JSON.parse(write(others)));
      t.is((result as string).replaceAll(/\s/g, ''), write(others).replaceAll(/\s/g, ''));
    }),
    { numRuns: 2000 },
  );
});

test('what a stream brings', (t) => {
  t.is(removedMember('{"a":1.0,"usage":null}', 'usage'), '{"a":1.0}');
  t.is(removedMember('{"usage":{"x":[1]},"a":1e3}', 'usage'), '{"a":1e3}');
  t.is(removedMember('{"usage":null}', 'usage'), '{}');
  t.is(removedMember('{"usage":1,"a":2,"usage":3}', 'usage'), '{"a":2}');
  t.is(removedMember('{"a":{"usage":1}}', 'usage'), undefined);
  t.is(removedMember('{"a":1}', 'usage'), undefined);
});
