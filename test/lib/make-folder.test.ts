// Folders with those above them, and what the system refuses.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { makeFolder } from '../../src/lib/make-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-folder-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

test('what is missing is made, with the mode; what is there stays', (t) => {
  const path = join(folder, 'a', 'b', 'c');
  makeFolder(path, 0o700);
  makeFolder(`${path}/`, 0o700);
  t.is(statSync(path).mode & 0o777, 0o700);
});

test('what the system refuses is thrown', (t) => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  t.throws(() => makeFolder(file), { code: 'EEXIST' });
  t.throws(() => makeFolder(join(file, 'x')), { code: 'ENOTDIR' });
  // Node's own recursion goes on for ever there.
  if (process.platform === 'linux') t.throws(() => makeFolder('/proc/sluice/x'), { code: 'ENOENT' });
});
