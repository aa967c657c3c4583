// What the engine compiled in a start is kept for the next, and a file of it that is not whole does no harm.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { eventually } from '../support/eventually.ts';

const KEY = 'a-key-of-the-workspace-0123456789';
const LAUNCH = fileURLToPath(new URL('../../src/launch.cjs', import.meta.url));

test('the code of a start is kept, and made again where it was cut short', async (t) => {
  t.timeout(170_000);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-code-'));
  const caches = join(folder, 'compiled');
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    await Promise.all(children.map(ended));
    rmSync(folder, { recursive: true, force: true });
  });
  let warnings = '';
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [LAUNCH, 'start'], {
      env: {
        ...process.env,
        PORT: '0',
        GATEWAY_DATA_DIR: join(folder, 'data'),
        GATEWAY_API_KEY: KEY,
        NODE_COMPILE_CACHE: caches,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    child.stderr?.on('data', (chunk: Buffer) => {
      warnings += chunk.toString('utf8');
    });
    for await (const line of createInterface({ input: child.stdout! })) {
      const url = /^Sluice listens on (\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      t.is((await fetch(`${url}/healthz`)).status, 200);
      t.is(await wrongCall(url), 400);
      return child;
    }
    throw new Error('the gateway did not start');
  };
  const file = (): string | undefined => readdirSync(caches).find((name) => name.endsWith('.code'));
  const isWhole = (bytes: Buffer): boolean => bytes.length > 1_000_000;

  const first = await start();
  await eventually('the code is kept', async () => file() !== undefined);
  await ended(first);
  const path = join(caches, file() ?? '');
  const kept = readFileSync(path);
  t.true(isWhole(kept));

  const second = await start();
  await ended(second);
  t.deepEqual(readFileSync(path), kept);

  writeFileSync(path, kept.subarray(0, 1000));
  await start();
  await eventually('the code is made again', async () => isWhole(readFileSync(path)));
  await Promise.all(children.map(ended));
  t.is(warnings, '');
});

/** What validates is loaded by an `import()`, of which Node.js warns in scripts. */
async function wrongCall(url: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': KEY, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o","messages":[]}',
  });
  await answer.text();
  return answer.status;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
