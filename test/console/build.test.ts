// The console's build: the same sources make the same bytes.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { buildConsole } from '../../src/build/console.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What a first look at the log loads: the page, its program, the log's, and all that these import at once. */
function firstLoad(folder: string): readonly string[] {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  const files = readdirSync(join(folder, 'assets'));
  const wanted = [...html.matchAll(/\/console\/(assets\/[^"]+\.(?:js|css))/g)].map((found) => found[1] ?? '');
  wanted.push(
    ...files.filter((name) => /^logs-[^.]+\.(?:js|css)$/.test(name)).map((name) => `assets/${name}`),
  );
  const loaded = new Set<string>();
  for (const name of wanted) {
    if (loaded.has(name)) continue;
    loaded.add(name);
    if (!name.endsWith('.js')) continue;
    const code = readFileSync(join(folder, name), 'utf8');
    for (const [, other] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) wanted.push(`assets/${other}`);
  }
  return [...loaded];
}

test('the same bytes twice; the first load takes at most 120 KB', async (t) => {
  t.timeout(120_000);
  const folders = ['a', 'b'].map((name) => mkdtempSync(join(tmpdir(), `sluice-console-${name}-`)));
  t.teardown(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  for (const folder of folders) await buildConsole(ROOT, folder);
  const [first, second] = folders.map(digests);
  t.deepEqual(first, second);
  const loaded = firstLoad(folders[0] ?? '');
  t.true(loaded.length >= 3);
  t.false(
    loaded.some((name) => /editor|analytics|playground/.test(name)),
    `${loaded}`,
  );
  const bytes = loaded.reduce(
    (sum, name) => sum + readFileSync(join(folders[0] ?? '', `${name}.br`)).length,
    0,
  );
  t.log(`${loaded.length} files, ${bytes} bytes`);
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
