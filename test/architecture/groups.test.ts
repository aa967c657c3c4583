// Every test file is run once: by itself or by one group.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { entries, groups, LONGEST, nameOf } from '../support/together/groups.ts';
import { ROOT } from './tools.ts';

const all = globSync('test/**/*.test.ts', { cwd: ROOT }).map((path) => join(ROOT, path));
const isEntry = (path: string): boolean => path.startsWith(join(ROOT, 'test', 'groups'));

test('groups and single files are all test files, each once', (t) => {
  const grouped = [...groups().values()].flat();
  const single = entries().filter((path) => !isEntry(path));
  t.deepEqual([...grouped, ...single].sort(), all.filter((path) => !isEntry(path)).sort());
});

test('each group has its entry, and each entry its group', (t) => {
  t.deepEqual(entries().filter(isEntry).sort(), all.filter(isEntry).sort());
  const texts = new Set(all.filter(isEntry).map((path) => readFileSync(path, 'utf8')));
  t.is(texts.size, 1, 'all of them say the same; the name makes the difference');
});

test('a file that needs a process of its own gets it', (t) => {
  t.true(entries().includes(join(ROOT, 'test', 'lib', 'memory.test.ts')));
});

test('what takes longest begins first, in its order', (t) => {
  t.deepEqual(entries().slice(0, LONGEST.length).map(nameOf), [...LONGEST]);
});
