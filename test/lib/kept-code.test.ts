// The file of compiled code: what is written is read in place, and a file that is not whole is as good as none.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BUILD_LENGTH, type Code, readCode, release, writeCode } from '../../src/lib/kept-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-kept-'));
const file = join(folder, `${'b'.repeat(BUILD_LENGTH)}-x.code`);
/** Not of the pool that `Buffer.from` takes from. */
const codeOf = (text: string): Code => {
  const code = Buffer.alloc(Buffer.byteLength(text));
  code.write(text);
  return code;
};

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

test.serial('pieces of any length are read as they were written, aligned; earlier builds go', async (t) => {
  writeFileSync(join(folder, `${'a'.repeat(BUILD_LENGTH)}-x.code`), '');
  const pieces = new Map(['', 'a', 'abcdefgh', 'ü'.repeat(70_001)].map((text, i) => [`${i}-é.js`, text]));
  await writeCode(file, new Map([...pieces].map(([name, text]) => [name, () => codeOf(text)])));
  t.deepEqual(readdirSync(folder), [`${'b'.repeat(BUILD_LENGTH)}-x.code`]);
  const read = readCode(readFileSync(file));
  t.deepEqual(new Map([...read].map(([name, data]) => [name, data.toString()])), pieces);
  for (const data of read.values()) t.is(data.byteOffset % 8, 0);
});

test.serial('a file that is cut or changed at any place holds nothing', (t) => {
  const whole = readFileSync(file);
  for (const length of [0, 3, 8, 9, 20, whole.length - 1])
    t.is(readCode(Buffer.from(whole.subarray(0, length))).size, 0, String(length));
  for (const at of [0, 8, 12, 30, whole.length - 1]) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] as number) ^ 1;
    t.is(readCode(changed).size, 0, String(at));
  }
});

test.serial('a piece that cannot be made leaves what was there', async (t) => {
  const before = readFileSync(file);
  const fails = (): Code => {
    throw new Error('rejected');
  };
  await writeCode(file, new Map([['a.js', fails]]));
  t.deepEqual(readFileSync(file), before);
  t.is(readdirSync(folder).length, 1);
});

test.serial('memory of its own is given back, a slice of other memory is left', (t) => {
  const own = codeOf('code');
  const slice = own.subarray(1, 2);
  release(slice);
  t.is(own.length, 4);
  release(own);
  t.is(own.length, 0);
});
