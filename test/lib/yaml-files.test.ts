// YAML files as people make them by accident: each is a fault with its line, and none is read for ever.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readYamlFiles } from '../../src/lib/yaml-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-yaml-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

function faultsOf(text: string): string[] {
  const path = join(folder, 'one.yaml');
  writeFileSync(path, text);
  return readYamlFiles(path).files.flatMap(({ faults }) =>
    faults.map(({ line, message }) => `${line}: ${message}`),
  );
}

test.serial('each fault has its line', (t) => {
  for (const [text, fault] of [
    ['', '1: must be an object with `version: 1`'],
    ['version: 1\n\tkeys: []\n', '2: a tab must not indent'],
    ['version: 1\nkeys: []\nkeys: []\n', '3: a member is named twice'],
    ['version: 1\nkeys:\n  - name: !!js/function "x"\n', '3: has a tag that is not known'],
    ['version: 1\nkeys:\n  - !key { name: x }\n', '3: has a tag that is not known'],
    ['version: 1\nkeys: &all\n  - *all\n', '1: has an anchor that is named within itself'],
    ['version: 1\nx: { y: &y { z: [*y] } }\n', '1: has an anchor that is named within itself'],
    ['version: 1\nkeys: [*none]\n', '1: names anchors that are not there, or too many of them'],
    [`version: 1\n#${'x'.repeat(16 * 1024 * 1024)}\n`, '1: is larger than 16 MiB'],
  ] as const)
    t.deepEqual(faultsOf(text), [fault], text.slice(0, 40));
  t.deepEqual(faultsOf('version: 1\nkeys: [&a { name: x }, *a]\nother: *a\n'), []);
});

test.serial('a folder is its files: not its folders, and not what leads nowhere', (t) => {
  const path = join(folder, 'state');
  mkdirSync(join(path, 'old.yaml'), { recursive: true });
  symlinkSync(join(path, 'gone'), join(path, 'link.yaml'));
  writeFileSync(join(path, 'a.yml'), 'version: 1\n');
  writeFileSync(join(path, 'notes.md'), 'text');
  t.deepEqual(
    readYamlFiles(path).files.map(({ name, faults }) => [name, faults.length]),
    [['state/a.yml', 0]],
  );
});

test('a device is no file', (t) => {
  t.throws(() => readYamlFiles('/dev/zero'), { message: '/dev/zero is no file' });
});
