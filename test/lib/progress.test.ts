// Long work tells how far it is, and how long it will take, every five seconds.
import test from 'ava';
import { progressOf } from '../../src/lib/progress.ts';

test('what is done, what is left, and nothing in between', (t) => {
  const lines: string[] = [];
  let now = 0;
  const told = progressOf(
    'days',
    (line) => void lines.push(line),
    10,
    () => now,
  );
  told(1);
  now = 6000;
  told(2);
  now = 7000;
  told(3);
  now = 600_000;
  told(4);
  t.deepEqual(lines, ['days: 2 of 10, about 24 s left', 'days: 4 of 10, about 15 min left']);
});

test('without a total it tells what is done', (t) => {
  const lines: string[] = [];
  let now = 0;
  const told = progressOf(
    'log',
    (line) => void lines.push(line),
    undefined,
    () => now,
  );
  now = 5000;
  told(500);
  t.deepEqual(lines, ['log: 500 so far']);
});
