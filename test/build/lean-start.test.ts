// What a start of the build does not load: the library of `fetch` that Node.js has, which no answer of the gateway needs.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const LAUNCH = fileURLToPath(new URL('../../src/launch.cjs', import.meta.url));

test('a gateway that has answered has not loaded what it does not use', async (t) => {
  t.timeout(170_000);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lean-'));
  const preload = join(folder, 'tell.cjs');
  writeFileSync(
    preload,
    "process.on('SIGUSR2', () => console.log('loaded ' + process.moduleLoadList.join('|')));\n",
  );
  const child = spawn(process.execPath, ['-r', preload, LAUNCH, 'start'], {
    env: { ...process.env, PORT: '0', GATEWAY_DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null) child.kill('SIGTERM');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  let modules: string[] = [];
  let url: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    url ??= /^Sluice listens on (\S+)/.exec(line)?.[1];
    if (line.startsWith('curl ')) {
      for (const path of ['/healthz', '/readyz', '/', '/v1/models']) await (await fetch(url + path)).text();
      child.kill('SIGUSR2');
    }
    if (!line.startsWith('loaded ')) continue;
    modules = line.split('|').map((name) => name.replace(/^.*NativeModule /, ''));
    break;
  }
  t.true(modules.includes('http2'));
  for (const name of ['internal/deps/undici/undici', 'inspector', 'repl'])
    t.false(modules.includes(name), name);
});
