// `sluice keys rotate-encryption` as people call it, on an embedded store: API keys go on working whatever changes.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  addMasterKey,
  dropOldMasterKeys,
  type RotateCommandDeps,
  rotateDataKeys,
} from '../../src/access/rotate-command.ts';
import { openStores } from '../../src/app/stores.ts';
import { readSettings } from '../../src/settings.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

async function sluice(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, 'keys', ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

function folder(t: ExecutionContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-rotate-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

/** Whether a key that was made long ago still calls. 400: it came through and asked for nothing that is there. */
async function calls(env: Readonly<Record<string, string>>, key: string): Promise<number> {
  const gateway = await startGateway(env);
  try {
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
      body: '{"model":"m","messages":[]}',
    });
    return answer.status;
  } finally {
    await gateway.close();
  }
}

test("the data folder's key is replaced, and keys made before still call", async (t) => {
  const dataDir = folder(t);
  const env = { GATEWAY_DATA_DIR: dataDir };
  t.is(await calls(env, WORKSPACE_KEY), 400);
  const file = join(dataDir, 'encryption.key');
  const before = readFileSync(file, 'utf8');
  const next = randomBytes(32).toString('base64');
  const nextFile = join(dataDir, 'next.key');

  const rotated = await sluice(env, 'rotate-encryption');
  t.is(rotated.code, 0, rotated.output);
  t.regex(rotated.output, /The key dk_\w+ encrypts now/);

  writeFileSync(nextFile, 'too short');
  const bad = await sluice(env, 'rotate-encryption', '--new-master', nextFile);
  t.is(bad.code, 1);
  t.regex(bad.output, /next\.key: must hold 32 bytes in base64/);
  t.false(bad.output.includes('too short'));
  const unset = await sluice(env, 'rotate-encryption', '--new-master', 'env');
  t.is(unset.code, 1);
  t.regex(unset.output, /GATEWAY_NEW_ENCRYPTION_KEY/);

  writeFileSync(nextFile, `${next}\n`);
  const changed = await sluice(env, 'rotate-encryption', '--new-master', nextFile);
  t.is(changed.code, 0, changed.output);
  t.is(readFileSync(file, 'utf8').trim(), next);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(await calls(env, WORKSPACE_KEY), 400);
  t.is(await calls(env, `${WORKSPACE_KEY}x`), 401);
  for (const { output } of [rotated, bad, unset, changed]) {
    for (const secret of [before.trim(), next]) t.false(output.includes(secret));
  }

  writeFileSync(file, before);
  const refused = await sluice(env, 'rotate-encryption');
  t.is(refused.code, 1);
  t.regex(refused.output, /encryption\.key is not the key of this store: it is mk_\w+, and .* mk_\w+/);
});

test("a setting's key is changed without a moment in which neither opens the store", async (t) => {
  const [one, two] = [randomBytes(32), randomBytes(32)];
  const dataDir = folder(t);
  const envOf = (key: Buffer) => ({
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_ENCRYPTION_KEY: key.toString('base64'),
  });
  const rotation = async (key: Buffer, run: (deps: RotateCommandDeps) => Promise<unknown>) => {
    const said: string[] = [];
    const stores = await openStores(readSettings(envOf(key)));
    try {
      await run({ ...stores.rotation, say: (line) => void said.push(line) });
    } finally {
      await stores.close();
    }
    return said.join('\n');
  };
  t.is(await calls(envOf(one), WORKSPACE_KEY), 400);
  await t.throwsAsync(rotation(two, dropOldMasterKeys), undefined, 'a strange key drops nothing');
  t.regex(await rotation(one, (deps) => addMasterKey(deps, two)), /--drop-old-masters/);
  for (const key of [one, two]) t.is(await calls(envOf(key), WORKSPACE_KEY), 400);
  t.regex(await rotation(two, dropOldMasterKeys), /does not open with mk_\w+ any more/);
  await rotation(two, rotateDataKeys);
  t.is(await calls(envOf(two), WORKSPACE_KEY), 400);
  const refused = await t.throwsAsync(calls(envOf(one), WORKSPACE_KEY));
  t.regex(refused?.message ?? '', /GATEWAY_ENCRYPTION_KEY/);
});

test('a gateway that runs on an embedded store rotates its own keys', async (t) => {
  const dataDir = folder(t);
  const env = { GATEWAY_DATA_DIR: dataDir };
  const gateway = await startGateway(env);
  t.teardown(() => gateway.close());
  const rotated = await sluice(env, 'rotate-encryption');
  t.is(rotated.code, 0, rotated.output);
  t.regex(rotated.output, /The key dk_\w+ encrypts now/);
  const busy = await sluice(env, 'rotate-encryption', '--drop-old-masters');
  t.is(busy.code, 1);
  t.regex(busy.output, /in use by another process/);
});
