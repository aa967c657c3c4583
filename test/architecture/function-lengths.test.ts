// A function fits a screen.
import test from 'ava';
import { functionsOf, measure } from './function-lengths.ts';

const MOST_LINES = 79;

/** Algorithms that are longer in one piece, by file and name, and why they are better so. */
const EXEMPT: Readonly<Record<string, string>> = {};

test('no function has 80 lines of its own', (t) => {
  const functions = functionsOf('src');
  t.true(functions.length > 5000, 'functions are found');
  const long = functions.filter(({ lines }) => lines > MOST_LINES).map(({ name }) => name);
  t.deepEqual(long.sort(), Object.keys(EXEMPT).sort());
});

test('lines of a function within count for that one', (t) => {
  const text = [
    'export function outer(): void {',
    '  const inner = (a: number): number => {',
    '    return a;',
    '  };',
    '  inner(1);',
    '}',
  ].join('\n');
  t.deepEqual(measure('a.ts', text), [
    { name: 'a.ts line 2', lines: 3 },
    { name: 'a.ts outer', lines: 3 },
  ]);
});
