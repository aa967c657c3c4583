// Lines of batches: the same however the file is cut, and read in turns of the event loop.
import test from 'ava';
import { LineSplitter, linesOf } from '../../src/inference/batches/lines.ts';

async function* cut(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function all(bytes: Buffer, length: number): Promise<[number, string | undefined][]> {
  const lines: [number, string | undefined][] = [];
  for await (const { line, text } of linesOf(cut(bytes, length))) lines.push([line, text]);
  return lines;
}

test('lines are the same however the file is cut', async (t) => {
  const long = 'ä'.repeat(50_000);
  const file = Buffer.from(`\uFEFF{"a":1}\r\n\n \n${long}\n\n\uFEFFx\r\n{"b":"ö"}`);
  const expected = [
    [1, '{"a":1}'],
    [4, long],
    [6, '\uFEFFx'],
    [7, '{"b":"ö"}'],
  ];
  for (const length of [1, 2, 7, 4096, 65_536, file.length]) t.deepEqual(await all(file, length), expected);
});

test('a line that is too heavy or too long is told without its text, and the next one is read', async (t) => {
  const heavy = `{"a":[${'{},'.repeat(200_000)}{}]}`;
  const deep = '['.repeat(500_000);
  const long = `"${'x'.repeat(26 * 1024 * 1024)}"`;
  const file = Buffer.from(`${heavy}\n${deep}\n${long}\n{"a":1}\n`);
  t.deepEqual(await all(file, 1_000_000), [
    [1, undefined],
    [2, undefined],
    [3, undefined],
    [4, '{"a":1}'],
  ]);
});

test('others run while a piece of many lines is cut', async (t) => {
  for (const text of ['\n', '{}\n']) {
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    t.teardown(() => clearImmediate(counting));
    let lines = 0;
    for await (const _ of new LineSplitter().push(Buffer.alloc(100_000 * text.length, text))) lines++;
    clearImmediate(counting);
    t.is(lines, text === '\n' ? 0 : 100_000);
    t.true(turns > 100, String(turns));
  }
});
