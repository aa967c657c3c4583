import test from 'ava';
import { ObjectEnd } from '../../src/providers/object-end.ts';

const reached = (...pieces: string[]): boolean => {
  const end = new ObjectEnd();
  for (const piece of pieces) end.add(piece);
  return end.reached;
};

test('an object ends with its last brace, however it is cut', (t) => {
  const text = ' {"a":"}{\\"","b":{"c":[{}]},"d":"\\\\"}\n';
  for (let at = 0; at <= text.length; at++) t.true(reached(text.slice(0, at), text.slice(at)), String(at));
  t.true(reached(...text));
  for (let at = 0; at < text.length - 1; at++) t.false(reached(text.slice(0, at)), String(at));
});

test('what is no object, or has something behind it, has no end', (t) => {
  for (const text of ['', 'null', '[{}]', '{}{}', '{} x', '}', '"{}"', '{"a":"}'])
    t.false(reached(text), text);
});
