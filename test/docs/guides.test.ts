// The guides: their shell blocks run, and the files that they name are there.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../architecture/tools.ts';

const folder = join(ROOT, 'src', 'docs');
const files = readdirSync(folder).filter((name) => name.endsWith('.md'));

for (const file of files) {
  const text = readFileSync(join(folder, file), 'utf8');
  for (const [index, [, block]] of [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].entries()) {
    test(`${file}: shell block ${index + 1} runs`, async (t) => {
      const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', block!], { cwd: ROOT });
      t.true(stdout.length > 0);
    });
  }
  test(`${file}: the tests that it names are there`, (t) => {
    const named = [...text.matchAll(/`((?:test\/[\w/-]+|cve-[\d-]+)\.test\.ts)`/g)].map((match) => match[1]!);
    for (const name of named)
      t.true(existsSync(join(ROOT, name.startsWith('test/') ? name : `test/cves/${name}`)), name);
    t.pass();
  });
}

test('each test that is named after a vulnerability has a row in the security guide', (t) => {
  const text = readFileSync(join(folder, 'security.md'), 'utf8');
  const tests = readdirSync(join(ROOT, 'test', 'cves')).filter((name) => name.endsWith('.test.ts'));
  t.true(tests.length > 10);
  for (const name of tests) t.true(text.includes(name), name);
});
