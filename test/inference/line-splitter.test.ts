// Lines of files while they come: what cannot be a line that is read is not held.
import test from 'ava';
import { LineSplitter, type TextLine } from '../../src/inference/batches/lines.ts';

const MIB = 1024 * 1024;

async function taken(lines: AsyncIterable<TextLine>): Promise<Pick<TextLine, 'line' | 'text'>[]> {
  const found: Pick<TextLine, 'line' | 'text'>[] = [];
  for await (const { line, text } of lines) found.push({ line, text });
  return found;
}

test('lines are cut wherever the pieces are cut', async (t) => {
  const text = Buffer.from('\uFEFFone\r\n\ntwo\nthree');
  for (let cut = 0; cut <= text.length; cut++) {
    const lines = new LineSplitter();
    const found = [
      ...(await taken(lines.push(text.subarray(0, cut)))),
      ...(await taken(lines.push(text.subarray(cut)))),
      ...(await taken(lines.end())),
    ];
    t.deepEqual(found, [
      { line: 1, text: 'one' },
      { line: 3, text: 'two' },
      { line: 4, text: 'three' },
    ]);
  }
});

test('the beginning of a line that has not ended is told, and may be forgotten', async (t) => {
  const lines = new LineSplitter();
  await taken(lines.push(Buffer.from('one\ntw')));
  await taken(lines.push(Buffer.from('o')));
  t.is(lines.held, 3);
  t.is(lines.start(2).toString(), 'tw');
  t.is(lines.start(100).toString(), 'two');
  lines.clear();
  t.is(lines.held, 0);
  t.is(lines.start(100).length, 0);
  t.deepEqual(await taken(lines.end()), []);
});

test('nothing of a line is held once it is too long to be read', async (t) => {
  const lines = new LineSplitter();
  for (let i = 0; i < 26; i++) t.deepEqual(await taken(lines.push(Buffer.alloc(MIB, 'x'))), []);
  t.is(lines.start(64).length, 0);
  t.deepEqual(await taken(lines.push(Buffer.from('\nnext\n'))), [
    { line: 1, text: undefined },
    { line: 2, text: 'next' },
  ]);
});
