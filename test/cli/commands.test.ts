// Each command that asks a gateway, by its three ways: over the port with a key, by the data folder of a running gateway, and
// by the folder of a stopped one. Tables, JSON, exit codes, and what a wrong way is told.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';
import { type Ran, runCommand } from './run-command.ts';

const SECRET = 'sk-commands-0123456789abcdef';
const folder = mkdtempSync(join(tmpdir(), 'sluice-commands-'));
const dataDir = join(folder, 'data');
const outputs: string[] = [];
let provider: FakeProvider;
let gateway: TestGateway | undefined;
let origin = '';

async function call(path: string, body: object, key = ADMIN_KEY, verb = 'POST'): Promise<void> {
  const answer = await fetch(`${origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
}

const question = (model: string): object => ({
  model: `@own/${model}`,
  messages: [{ role: 'user', content: 'hi' }],
});

/** A gateway with one of each: a provider, a key with a budget, a policy, and a call in the log. */
test.before(async () => {
  mkdirSync(dataDir);
  provider = await startFakeProvider();
  gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  ({ origin } = gateway);
  const integration = { name: 'Own model', slug: 'own', ai_provider_id: 'openai', key: SECRET };
  await call('/integrations', { ...integration, configurations: { custom_host: `${provider.origin}/v1` } });
  await call(
    '/integrations/own/workspaces',
    { workspaces: [{ id: 'default', enabled: true }] },
    ADMIN_KEY,
    'PUT',
  );
  await call('/api-keys/workspace/service', {
    name: 'App\u001b[31m',
    workspace_id: 'default',
    scopes: ['completions.write'],
    usage_limits: { type: 'cost', credit_limit: 5, periodic_reset: 'monthly' },
  });
  await call('/chat/completions', question('gpt-4o-mini'), WORKSPACE_KEY);
});

test.after.always(async () => {
  await gateway?.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where a command finds the gateway: options and environment. */
interface Way {
  readonly name: string;
  readonly options: () => readonly string[];
  readonly env: () => Readonly<Record<string, string>>;
}

const none = () => ({});
const RUNNING: readonly Way[] = [
  { name: '--url --key', options: () => ['--url', origin, '--key', ADMIN_KEY], env: none },
  { name: '--url with /v1', options: () => ['--url', `${origin}/v1/`, '--key', ADMIN_KEY], env: none },
  {
    name: 'SLUICE_URL and SLUICE_KEY',
    options: () => [],
    env: () => ({ SLUICE_URL: origin, SLUICE_KEY: ADMIN_KEY }),
  },
  { name: '--data-dir', options: () => ['--data-dir', dataDir], env: none },
  { name: 'GATEWAY_DATA_DIR', options: () => [], env: () => ({ GATEWAY_DATA_DIR: dataDir }) },
];
const STOPPED: Way = { name: 'stopped', options: () => ['--data-dir', dataDir], env: none };

async function sluice(words: string, way: Way, ...more: readonly string[]): Promise<Ran> {
  const ran = await runCommand([...words.split(' '), ...more, ...way.options()], way.env());
  outputs.push(ran.out, ran.err);
  return ran;
}

async function ok(t: ExecutionContext, words: string, way: Way, ...more: readonly string[]): Promise<string> {
  const { code, out, err } = await sluice(words, way, ...more);
  t.is(code, 0, `${words} by ${way.name}: ${err}`);
  return out;
}

const json = async <T>(t: ExecutionContext, words: string, way: Way, ...more: readonly string[]) =>
  JSON.parse(await ok(t, words, way, '--json', ...more)) as T;

interface List {
  readonly object: string;
  readonly total: number;
  readonly data: readonly Readonly<Record<string, unknown>>[];
}

/** What every way must answer. */
async function reads(t: ExecutionContext, way: Way): Promise<void> {
  const keys = await ok(t, 'keys list', way);
  t.regex(keys, /^ID +NAME +TYPE +STATUS +KEY +MANAGED BY\n/, way.name);
  t.regex(keys, /App \[31m/, 'a name moves no cursor');
  const listed = await json<List>(t, 'keys list', way);
  t.is(listed.object, 'list');
  t.is(listed.total, listed.data.length);
  t.true(listed.data.some(({ name }) => String(name).startsWith('App')));

  t.regex(await ok(t, 'providers list', way), /^SLUG +NAME +PROVIDER +WORKSPACE +STATUS[^\n]*\nown +/);
  const providers = await json<List>(t, 'providers list', way, '--workspace', 'default');
  t.deepEqual(
    providers.data.map(({ slug, workspace }) => [slug, workspace]),
    [['own', 'default']],
  );
  t.regex(await ok(t, 'budgets list', way), /^OF +NAME +TYPE +LIMIT +USED[^\n]*\nkey +App \[31m +cost +5 +/);
  const { budgets } = await json<{ budgets: { of: string; credit_limit: number }[] }>(t, 'budgets list', way);
  t.deepEqual(
    budgets.map((one) => [one.of, one.credit_limit]),
    [['key', 5]],
  );
  t.regex(await ok(t, 'logs tail', way, '--no-follow'), /200 +openai +gpt-4o-mini/);
  const lines = (await ok(t, 'logs tail', way, '--no-follow', '--json', '-n', '1')).trimEnd().split('\n');
  t.deepEqual(
    lines.map((line) => (JSON.parse(line) as { status_code: number }).status_code),
    [200],
  );
  t.is(await ok(t, 'logs tail', way, '--no-follow', '-n', '0'), '');
  const all = (await ok(t, 'logs export', way)).trimEnd().split('\n');
  t.regex(all[0] ?? '', /"ai_model":"gpt-4o-mini"/);
  t.notRegex(all[0] ?? '', /"request":/, 'no bodies unless they are asked for');
  const [to, limit] = [join(folder, 'log.jsonl'), ['--limit', '1', '--fields', 'id,request']];
  const done = await json<{ entries: number; file: string }>(t, 'logs export', way, '-o', to, ...limit);
  t.deepEqual([done.entries, done.file], [1, to]);
  t.deepEqual(Object.keys(JSON.parse(readFileSync(to, 'utf8')) as object).sort(), ['id', 'request']);
  const none = await ok(t, 'logs export', way, '--to', '2020-01-01T00:00:00Z');
  t.is(none, '');
  for (const [option, value] of [
    ['--limit', '0'],
    ['--from', 'soon'],
    ['--fields', 'no_such'],
  ] as const) {
    const refused = await sluice('logs export', way, option, value);
    t.is(refused.code, 1, option);
    t.regex(refused.err, /limit|time_of_generation_min|requested_data/);
  }
  const exported = await ok(t, 'export', way);
  t.regex(exported, /^version: 1\n/);
  t.is(await ok(t, 'export', way), exported);
  t.deepEqual((await json<{ version: number }>(t, 'export', way)).version, 1);
}

/** Makes a key, changes it and takes it away. */
async function writes(t: ExecutionContext, way: Way): Promise<void> {
  const { id, key } = await json<{ id: string; key: string }>(t, 'keys create', way, '--name', way.name);
  t.regex(key, /^slk_/);
  const rotated = await json<{ id: string; key: string }>(t, `keys rotate ${id}`, way);
  t.is(rotated.id, id);
  t.not(rotated.key, key);
  t.is(await ok(t, `keys revoke ${id}`, way), `The key ${id} is revoked.\n`);
  t.is((await sluice(`keys revoke ${id}`, way)).code, 1);
  const other = (await ok(t, 'keys create', way, '--name', 'x', '--kind', 'organisation-service')).trim();
  t.regex(other, /^slk_\S+$/);
  const all = await json<List>(t, 'keys list', way);
  for (const one of all.data) if (one.name === 'x') await ok(t, `keys revoke ${one.id}`, way, '--json');
}

const file = join(folder, 'sluice.yaml');
const stateOf = (name: string): string => `version: 1
configs:
  - slug: fast
    name: ${name}
    config: { provider: '@own' }
`;

async function declares(t: ExecutionContext, way: Way): Promise<void> {
  writeFileSync(file, stateOf(`Fast by ${way.name.replaceAll(/[^a-zA-Z ]/g, '')}`));
  const of = ['-f', file];
  t.regex(
    await ok(t, 'plan', way, ...of),
    /\d to create, \d to update, 0 to archive; nothing is changed yet/,
  );
  t.is((await sluice('diff', way, ...of)).code, 1);
  const { changes } = await json<{ changes: { action: string }[] }>(t, 'apply', way, ...of);
  t.is(changes.length, 1);
  t.regex(changes[0]?.action ?? '', /^(create|update)$/);
  t.is(await ok(t, 'diff', way, ...of), 'Nothing to change: what is stored is as the file says.\n');
  t.deepEqual(await json(t, 'plan', way, ...of), { changes: [] });
  writeFileSync(file, `${stateOf('x')}    nme: y\n`);
  const faulty = await sluice('diff', way, ...of);
  t.is(faulty.code, 2);
  t.regex(faulty.err, /^sluice\.yaml:6: configs\[0\]\.nme: /);
  const told = await sluice('plan', way, ...of, '--json');
  t.is(told.code, 1);
  t.is((JSON.parse(told.out) as { faults: { line: number }[] }).faults[0]?.line, 6);
}

for (const way of RUNNING)
  test.serial(`a running gateway by ${way.name}`, async (t) => {
    await reads(t, way);
    await writes(t, way);
    await declares(t, way);
  });

test.serial('the tail goes on with each new call, until it is interrupted', async (t) => {
  const args = ['logs', 'tail', '--json', '-n', '1', '--url', origin];
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, SLUICE_KEY: ADMIN_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.teardown(() => void child.kill('SIGKILL'));
  const models: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    models.push((JSON.parse(line) as { model: string }).model);
    if (models.length === 2) break;
    await call('/chat/completions', question('gpt-4o'), WORKSPACE_KEY);
  }
  t.deepEqual(models, ['gpt-4o-mini', 'gpt-4o']);
  child.kill('SIGINT');
  t.deepEqual(await ended, [null, 'SIGINT']);
});

test.serial('recover makes both keys; books are compared by the gateway that has them', async (t) => {
  const [byUrl, , , byFolder] = RUNNING as [Way, Way, Way, Way];
  const text = await ok(t, 'keys recover', byFolder);
  t.regex(text, /^Admin API key: +slk_\S+\nWorkspace API key: slk_\S+\n/);
  const made = await json<Record<'admin' | 'workspace', { key: string }>>(t, 'keys recover', byUrl);
  const answer = await fetch(`${origin}/v1/models`, { headers: { 'x-gateway-api-key': made.workspace.key } });
  t.is(answer.status, 200);
  t.regex(await ok(t, 'ledger verify', byFolder), /0 different/);
  t.regex(await ok(t, 'ledger re-rate', byFolder, '--from', '2020-01-01', '--dry-run'), /\S/);
  t.is((await sluice('ledger re-rate', byFolder)).code, 1);
  const migrating = await sluice('migrate', byFolder);
  t.is(migrating.code, 1);
  t.regex(migrating.err, /in use/);
  const looked = await sluice('doctor', byFolder, '--json');
  t.true((JSON.parse(looked.out) as { checks: unknown[] }).checks.length > 3, looked.err);
});

test.serial('what is wrong is said in a line, with the next step', async (t) => {
  for (const [args, reason] of [
    [['keys', 'list', '--url', origin], '--key (or SLUICE_KEY) is needed with --url'],
    [
      ['keys', 'list', '--url', 'gateway', '--key', 'x'],
      '--url must be an address such as http://127.0.0.1:8787',
    ],
    [['keys', 'list', '--url', 'http://127.0.0.1:9', '--key', 'x'], 'http://127.0.0.1:9 does not answer'],
    [['keys', 'list', '--data-dir', '/nowhere'], '--data-dir: there is no folder /nowhere'],
    [['doctor', '--data-dir', '/nowhere'], '--data-dir: there is no folder /nowhere'],
    [['migrate', '--data-dir', '/nowhere'], '--data-dir: there is no folder /nowhere'],
    [['keys', 'create', '--data-dir', dataDir], '--name is needed: what people call the key'],
    [
      ['keys', 'create', '--name', 'x', '--kind', 'admin'],
      '--kind must be organisation-service or workspace-service',
    ],
    [['keys', 'revoke', '../logs', '--url', origin, '--key', ADMIN_KEY], 'DELETE /api-keys/..%2Flogs: 404'],
    [['plan', '-f', '/nowhere.yaml', '--url', origin, '--key', ADMIN_KEY], '/nowhere.yaml'],
    [
      ['plan', '--url', origin, '--key', ADMIN_KEY],
      'there is no sluice.yaml here: name a file or a folder by --file',
    ],
    [
      ['logs', 'tail', '-n', 'all', '--url', origin, '--key', ADMIN_KEY],
      '--lines: must be a whole number from 0 to 100',
    ],
    [
      ['logs', 'tail', '-n', '101', '--url', origin, '--key', ADMIN_KEY],
      '--lines: must be a whole number from 0 to 100',
    ],
    [
      ['logs', 'tail', '-n', '-1', '--url', origin, '--key', ADMIN_KEY],
      '--lines: must be a whole number from 0 to 100',
    ],
    [
      ['logs', 'export', '-o', '/nowhere/x', '--url', origin, '--key', ADMIN_KEY],
      '--output: /nowhere/x cannot be written (ENOENT)',
    ],
    [
      ['logs', 'export', '-o', folder, '--url', origin, '--key', ADMIN_KEY],
      `--output: ${folder} is a folder: name a file`,
    ],
    [['keys', 'list'], 'there is no data folder'],
    [['ledger', 'verify'], 'there is no data folder /nowhere: name one by --data-dir, or set MONGODB_URI'],
    [['ledger', 're-rate', '--from', '2020-01-01'], 'there is no data folder /nowhere'],
    [['migrate'], 'there is no data folder /nowhere'],
    [['accept-loss', 'state.db'], 'there is no data folder /nowhere'],
    [['keys', 'rotate-encryption'], 'there is no data folder /nowhere'],
  ] as const) {
    const { code, out, err } = await runCommand(args, { GATEWAY_DATA_DIR: '/nowhere' });
    t.is(code, 1, args.join(' '));
    t.is(out, '');
    t.true(err.includes(reason), `${args.join(' ')}: ${err}`);
  }
  t.false(existsSync('/nowhere'), 'no command makes the folder');
  const looked = await runCommand(['doctor'], { GATEWAY_DATA_DIR: '/nowhere' });
  t.is(looked.code, 0);
  t.regex(looked.out, /data folder: \/nowhere is not there yet: the first start makes it/);
  const wrong = ['--url', origin, '--key', WORKSPACE_KEY];
  const refused = await runCommand(['providers', 'list', ...wrong]);
  t.is(refused.code, 1);
  t.regex(refused.err, /^GET \/admin\/workspaces: 403 /);
  t.false(refused.err.includes(WORKSPACE_KEY));
});

/** Each command opens the folder itself, which takes a start's time: one form of each. */
test.serial('a stopped gateway by its folder', async (t) => {
  await gateway?.close();
  gateway = undefined;
  t.regex(await ok(t, 'keys list', STOPPED), /App \[31m/);
  const { data } = await json<List>(t, 'providers list', STOPPED);
  t.deepEqual(
    data.map(({ slug }) => slug),
    ['own'],
  );
  t.regex(await ok(t, 'budgets list', STOPPED), /\nkey +App \[31m +cost +5 +/);
  t.regex(await ok(t, 'logs tail', STOPPED, '--no-follow'), /200 +openai +gpt-4o-mini/);
  const { id, key } = await json<{ id: string; key: string }>(t, 'keys create', STOPPED, '--name', 'late');
  t.regex(key, /^slk_/);
  t.is(await ok(t, `keys revoke ${id}`, STOPPED), `The key ${id} is revoked.\n`);
  t.regex(await ok(t, 'keys recover', STOPPED), /^Admin API key: +slk_/);
  writeFileSync(file, stateOf('Stopped'));
  t.regex(await ok(t, 'plan', STOPPED, '-f', file), /~ update configs fast/);
  t.is((await json<{ changes: unknown[] }>(t, 'apply', STOPPED, '-f', file)).changes.length, 1);
  t.is((await sluice('diff', STOPPED, '-f', file)).code, 0);
  t.regex(await ok(t, 'export', STOPPED), /name: Stopped/);
  t.regex(await ok(t, 'ledger verify', STOPPED), /0 different/);
  t.regex(await ok(t, 'ledger re-rate', STOPPED, '--from', '2020-01-01'), /\S/);
  t.regex(await ok(t, 'migrate', STOPPED), /\S/);
  t.regex((await sluice('doctor', STOPPED)).out, /^ok +/m);
});

test.after('no output holds a secret of the gateway', (t) => {
  t.true(outputs.length > 50);
  for (const output of outputs)
    for (const secret of [SECRET, ADMIN_KEY, WORKSPACE_KEY]) t.false(output.includes(secret));
});
