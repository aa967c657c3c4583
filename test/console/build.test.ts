// The console's build: the same sources make the same bytes.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { buildConsole } from '../../src/build/console.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What a first look at the log loads, compressed. */
const FIRST_LOAD = /^assets\/(?:index|logs|log-query|figures|common_pb)-[^/]+\.(?:js|css)\.br$/;

test('the same bytes twice; the first load takes at most 120 KB', async (t) => {
  t.timeout(120_000);
  const folders = ['a', 'b'].map((name) => mkdtempSync(join(tmpdir(), `sluice-console-${name}-`)));
  t.teardown(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  for (const folder of folders) await buildConsole(ROOT, folder);
  const [first, second] = folders.map(digests);
  t.deepEqual(first, second);
  const loaded = Object.keys(first ?? {}).filter((name) => FIRST_LOAD.test(name));
  t.true(loaded.length >= 3);
  const bytes = loaded.reduce((sum, name) => sum + readFileSync(join(folders[0] ?? '', name)).length, 0);
  t.true(bytes <= 120_000, `${bytes} bytes`);
});

function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const named = files.map((one) => join(one.parentPath, one.name)).sort();
  return Object.fromEntries(
    named.map((path) => [
      path.slice(folder.length + 1),
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ]),
  );
}
