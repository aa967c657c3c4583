import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { secretsBench } from './bench.ts';

test('variables are read that are listed by their exact names', async (t) => {
  const environment = { OPEN_KEY: 'sk-env', OPEN_KEY_2: 'other', EMPTY: '' };
  const { add, resolve } = secretsBench(t, { environment, envAllow: ['OPEN_KEY', 'EMPTY', 'toString'] });
  for (const path of ['OPEN_KEY', 'OPEN_KEY_2', 'open_key', 'EMPTY', 'toString', 'PATH'])
    add(`of-${path}`, { managerType: 'env', path });
  t.is(await resolve('of-OPEN_KEY'), 'sk-env');
  for (const path of ['OPEN_KEY_2', 'open_key', 'PATH'])
    await t.throwsAsync(resolve(`of-${path}`), { message: /no variable that the operator has listed/ }, path);
  for (const path of ['EMPTY', 'toString'])
    await t.throwsAsync(resolve(`of-${path}`), { message: /is not set/ }, path);
});

test('files are read in listed folders, whichever way leads there', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  const open = join(root, 'open');
  await mkdir(join(open, 'deeper'), { recursive: true });
  await mkdir(join(root, 'openly'));
  await writeFile(join(open, 'key'), 'sk-file\n');
  await writeFile(join(open, 'deeper', 'key'), 'sk-deeper');
  await writeFile(join(open, 'large'), 'x'.repeat(64 * 1024 + 1));
  await writeFile(join(root, 'private'), 'private');
  await writeFile(join(root, 'openly', 'key'), 'neighbour');
  await symlink(join(open, 'key'), join(open, 'link'));
  await symlink(join(root, 'private'), join(open, 'out'));
  await symlink(root, join(open, 'up'));
  await symlink(open, join(root, 'alias'));
  execFileSync('mkfifo', [join(open, 'pipe')]);
  const { add, resolve } = secretsBench(t, { fileAllow: [open] });
  const read = (path: string) => {
    add('r', { managerType: 'file', path });
    return resolve('r');
  };
  t.is(await read(join(open, 'key')), 'sk-file');
  t.is(await read(join(open, 'deeper', 'key')), 'sk-deeper');
  t.is(await read(join(open, 'link')), 'sk-file');
  t.is(await read(join(root, 'alias', 'key')), 'sk-file');
  for (const path of [
    join(open, 'out'),
    join(open, 'up', 'private'),
    `${open}/../private`,
    `${open}/deeper/../key`,
    join(root, 'private'),
    join(root, 'openly', 'key'),
    join(open, 'nothing'),
    'key',
    `${open}/key\0.txt`,
    open,
  ])
    await t.throwsAsync(read(path), { message: /no file in a folder that the operator listed/ }, path);
  await t.throwsAsync(read(join(open, 'deeper')), { message: /is no file|cannot be read/ });
  await t.throwsAsync(read(join(open, 'pipe')), { message: /is no file/ });
  await t.throwsAsync(read(join(open, 'large')), { message: /more than 65536 bytes/ });
});
