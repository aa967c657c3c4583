// Lines of files while they come: what cannot be a line that is read is not held.
import test from 'ava';
import { LineSplitter } from '../../src/inference/batches/rows.ts';

const MIB = 1024 * 1024;

test('lines are cut wherever the pieces are cut', (t) => {
  const text = Buffer.from('\uFEFFone\r\n\ntwo\nthree');
  for (let cut = 0; cut <= text.length; cut++) {
    const lines = new LineSplitter();
    const found = [...lines.push(text.subarray(0, cut)), ...lines.push(text.subarray(cut)), ...lines.end()];
    t.deepEqual(found, [
      { line: 1, text: 'one' },
      { line: 3, text: 'two' },
      { line: 4, text: 'three' },
    ]);
  }
});

test('the beginning of a line that has not ended is told, and may be forgotten', (t) => {
  const lines = new LineSplitter();
  lines.push(Buffer.from('one\ntw'));
  lines.push(Buffer.from('o'));
  t.is(lines.held, 3);
  t.is(lines.start(2).toString(), 'tw');
  t.is(lines.start(100).toString(), 'two');
  lines.clear();
  t.is(lines.held, 0);
  t.is(lines.start(100).length, 0);
  t.deepEqual(lines.end(), []);
});

test('nothing of a line is held once it is too long to be read', (t) => {
  const lines = new LineSplitter();
  for (let i = 0; i < 26; i++) t.deepEqual(lines.push(Buffer.alloc(MIB, 'x')), []);
  t.is(lines.start(64).length, 0);
  t.deepEqual(lines.push(Buffer.from('\nnext\n')), [
    { line: 1, text: undefined },
    { line: 2, text: 'next' },
  ]);
});
