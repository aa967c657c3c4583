// Declared state and keys by the real command: over a gateway's port, over its control socket, and on a stopped folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { launch, startChild, until } from '../edge/child.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';

const SECRET = 'sk-command-line-0123456789abcdef';
const KEYS = { GATEWAY_ADMIN_API_KEY: ADMIN_KEY, GATEWAY_API_KEY: WORKSPACE_KEY };
const outputs: string[] = [];

async function sluice(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, PORT: '0', OPENAI_API_KEY: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString('utf8');
  });
  const [code] = await once(child, 'close');
  outputs.push(out, err);
  return { code: code as number | null, out, err };
}

function folder(t: ExecutionContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-declared-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const FILE = `version: 1
integrations:
  - slug: openai
    name: OpenAI
    ai_provider_id: openai
    key: { env: OPENAI_API_KEY }
    workspaces: [default]
configs:
  - slug: fast
    name: Fast
    config:
      provider: '@openai'
      override_params: { model: gpt-4o-mini }
aliases:
  - name: fast
    config: fast
`;

const FAULTY = `version: 1
integrations:
  - slug: openai
    name: OpenAI
    ai_provider_id: opnai
  - slug: plain
    name: Plain
    ai_provider_id: openai
    key: ${SECRET}
configs:
  - slug: fast
    nme: Fast
    config: { provider: openai }
`;

const changesOf = (out: string) =>
  (JSON.parse(out) as { changes: { action: string; kind: string; name: string }[] }).changes.map(
    ({ action, kind, name }) => `${action} ${kind} ${name}`,
  );

test.serial(
  'plan, apply, diff and export against a running gateway, by its port and by its socket',
  async (t) => {
    const dir = folder(t);
    const file = join(dir, 'sluice.yaml');
    const dataDir = join(dir, 'data');
    writeFileSync(file, FILE);
    const child = await startChild(t, { GATEWAY_DATA_DIR: dataDir, ...KEYS });
    const remote = ['--url', child.origin, '--key', ADMIN_KEY];
    const plan = await sluice(['plan', '-f', file, '--json', ...remote]);
    t.is(plan.code, 0, plan.err);
    t.deepEqual(changesOf(plan.out), [
      'create integrations openai',
      'create configs fast',
      'create aliases fast',
    ]);
    t.is((await sluice(['diff', '-f', file, ...remote])).code, 1);
    const applied = await sluice(['apply', '-f', file, '--data-dir', dataDir]);
    t.is(applied.code, 0, applied.err);
    t.regex(applied.out, /\+ create integrations openai/);
    t.false(applied.out.includes('\u001b'), 'no colours but on a terminal');
    const again = await sluice(['apply', '-f', file, '--json', ...remote]);
    t.deepEqual(changesOf(again.out), []);
    t.is((await sluice(['diff', '-f', file, ...remote])).code, 0);

    const exported = await sluice(['export', ...remote]);
    t.is((await sluice(['export', ...remote])).out, exported.out);
    const copy = join(dir, 'export.yaml');
    writeFileSync(copy, exported.out);
    t.deepEqual(changesOf((await sluice(['apply', '-f', copy, '--json', ...remote])).out), []);

    const faulty = join(dir, 'faulty.yaml');
    writeFileSync(faulty, FAULTY);
    const refused = await sluice(['apply', '-f', faulty, ...remote]);
    t.is(refused.code, 1);
    t.deepEqual(
      refused.err
        .trim()
        .split('\n')
        .map((line) => line.split(': ').slice(0, 2).join(': ')),
      [
        'faulty.yaml:9: integrations[1].key',
        'faulty.yaml:12: configs[0].nme',
        'faulty.yaml:5: integrations[0].ai_provider_id',
      ],
      refused.err,
    );
    t.is((await sluice(['diff', '-f', faulty, ...remote])).code, 2);

    const made = await sluice(['keys', 'create', '--name', 'ci', '--json', '--data-dir', dataDir]);
    const { id, key } = JSON.parse(made.out) as { id: string; key: string };
    t.regex(key, /^slk_/);
    t.regex((await sluice(['keys', 'list', ...remote])).out, /ci/);
    t.is((await sluice(['keys', 'revoke', id, ...remote])).code, 0);
    t.regex((await sluice(['providers', 'list', ...remote])).out, /openai/);
    t.is((await sluice(['budgets', 'list', '--json', ...remote])).out, '{"budgets":[]}\n');
    t.is((await sluice(['logs', 'tail', '--no-follow', '--json', ...remote])).code, 0);
  },
);

test.serial('the same on a stopped data folder', async (t) => {
  const dir = folder(t);
  const file = join(dir, 'sluice.yaml');
  const dataDir = join(dir, 'data');
  writeFileSync(file, FILE);
  const child = await startChild(t, { GATEWAY_DATA_DIR: dataDir, ...KEYS });
  child.process.kill('SIGTERM');
  t.is(await child.exited, 0);
  const applied = await sluice(['apply', '-f', file, '--json', '--data-dir', dataDir]);
  t.is(applied.code, 0, applied.err);
  t.is(changesOf(applied.out).length, 3);
  t.is((await sluice(['diff', '-f', file, '--data-dir', dataDir])).code, 0);
  t.regex((await sluice(['export', '--data-dir', dataDir])).out, /key:\n +env: OPENAI_API_KEY/);
});

test.serial(
  'GATEWAY_CONFIG_FILE: applied at the start and on change; a faulty one ends the start',
  async (t) => {
    const dir = folder(t);
    const file = join(dir, 'sluice.yaml');
    writeFileSync(file, FILE);
    const env = {
      GATEWAY_DATA_DIR: join(dir, 'data'),
      GATEWAY_CONFIG_FILE: file,
      OPENAI_API_KEY: SECRET,
      ...KEYS,
    };
    const child = await startChild(t, env);
    const read = async (path: string): Promise<{ status: number; json: Record<string, unknown> }> => {
      const answer = await fetch(`${child.origin}/v1${path}`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    t.is((await read('/configs/fast')).json.managed_by, 'sluice.yaml');
    writeFileSync(file, FILE.replace('name: Fast', 'name: Faster'));
    await until(async () => (await read('/configs/fast')).json.name === 'Faster');
    writeFileSync(file, FAULTY);
    await until(() => child.output().includes('is not applied'));
    t.is((await read('/configs/fast')).json.name, 'Faster', 'the old state goes on');
    outputs.push(child.output());
    child.process.kill('SIGTERM');
    await child.exited;
    const refused = launch(t, env);
    t.is(await refused.exited, 1);
    t.regex(refused.output(), /sluice\.yaml:9: integrations\[1\]\.key/);
    t.regex(refused.output(), /sluice\.yaml:5: integrations\[0\]\.ai_provider_id/);
    outputs.push(refused.output());
  },
);

test.serial('a variable that is none names the nearest; no output holds a secret', async (t) => {
  const dir = folder(t);
  const child = await startChild(t, { GATEWAY_DATA_DIR: dir, GATEWAY_EGRES_ALOW: 'x', ...KEYS });
  t.regex(child.output(), /GATEWAY_EGRES_ALOW: is no setting; did you mean GATEWAY_EGRESS_ALLOW\?/);
  t.true(outputs.length > 20);
  for (const output of outputs) t.false(output.includes(SECRET));
});
