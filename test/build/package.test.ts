// What `npm pack` makes: installed into an empty folder it starts, and has all with it that it needs.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LAUNCH = join(ROOT, 'src/launch.cjs');
const { fingerprint } = createRequire(import.meta.url)(LAUNCH) as { fingerprint(root: string): string };
const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const run = promisify(execFile);
const npm = (args: readonly string[], cwd: string) => run('npm', args, { cwd, timeout: 150_000 });

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** What a build reads besides the sources. */
const FILES = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'README.md', 'LICENSE'];

test.serial('the package is small, and builds and depends on nothing', async (t) => {
  t.timeout(170_000);
  // A copy: other tests read the checkout's files meanwhile.
  const tree = join(folder, 'checkout');
  for (const name of ['src', 'gen', ...FILES])
    cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const { stdout } = await npm(['pack', '--json', '--pack-destination', folder], tree);
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [
    { readonly unpackedSize: number; readonly filename: string; readonly files: { readonly path: string }[] },
  ];
  t.true(packed.unpackedSize < 15_000_000, `${packed.unpackedSize} bytes`);
  const paths = packed.files.map(({ path }) => path);
  t.deepEqual(
    paths.filter(
      (path) => !/^(dist\/|src\/launch(-gateway)?\.cjs$|package\.json$|README\.md$|LICENSE$)/.test(path),
    ),
    [],
  );
  t.deepEqual(
    paths.filter((path) => /(^|\/)\.|\.ts$|\.map$/.test(path)),
    [],
  );
  // Its own package.json is as it was, and what was built is fresh.
  t.deepEqual(readFileSync(join(tree, 'package.json')), readFileSync(join(ROOT, 'package.json')));
  const { of } = JSON.parse(readFileSync(join(tree, 'dist/build.json'), 'utf8')) as { of: string };
  t.is(of, fingerprint(tree));
});

test.serial('it installs into an empty folder and starts by npx', async (t) => {
  t.timeout(170_000);
  const home = join(folder, 'empty');
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{"private":true}\n');
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  const { stderr } = await npm(
    ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, tarball)],
    home,
  );
  t.notRegex(stderr, /EBADENGINE|install-scripts|deprecated/);
  const installed = JSON.parse(readFileSync(join(home, 'node_modules/sluice-gateway/package.json'), 'utf8'));
  t.is(installed.scripts, undefined);
  t.is(installed.dependencies, undefined);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  t.is((await run('npx', ['sluice', '--version'], { cwd: home })).stdout.trim(), version);

  const port = await freePort();
  const child = spawn('npx', ['sluice-gateway'], {
    cwd: home,
    env: { ...process.env, PORT: String(port), GATEWAY_DATA_DIR: join(home, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  t.teardown(() => end(child));
  const key = await firstKey(child);
  const base = `http://127.0.0.1:${port}`;
  const headers = { 'x-gateway-api-key': key, 'content-type': 'application/json' };
  for (const path of [
    '/healthz',
    '/readyz',
    '/docs/',
    '/docs/swagger-ui-bundle.js',
    '/docs/security',
    '/metrics',
  ])
    t.is((await fetch(base + path)).status, 200, path);
  t.is(
    ((await (await fetch(`${base}/openapi.json`)).json()) as { info: { title: string } }).info.title,
    'Sluice',
  );
  // Loaded when first used: the engine of the rules, the sandbox's worker, the log's reader.
  const post = (path: string, body: object) =>
    fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const refused = await post('/v1/chat/completions', { model: 'x'.repeat(3000), messages: [] });
  t.is(refused.status, 400);
  t.true((await fetch(`${base}/v1/models`, { headers })).ok);
  // Every dialect, also those that are loaded when they are first used.
  t.is((await fetch(`${base}/v1/providers/catalogue`, { headers })).status, 200);
});

test('an older Node.js starts the one that the package brings', async (t) => {
  const preload = join(folder, 'old.cjs');
  writeFileSync(
    preload,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });\n",
  );
  const { stdout, stderr } = await run(process.execPath, ['-r', preload, LAUNCH, '--version']);
  t.regex(stdout, /^\d+\.\d+\.\d+\n$/);
  t.notRegex(stderr, /warn/i);
  const failed = await run(process.execPath, ['-r', preload, LAUNCH, 'no-such-command']).catch(
    (error) => error,
  );
  t.is(failed.code, 1);
});

test('without any suitable Node.js one line says what is needed', async (t) => {
  const preload = join(folder, 'none.cjs');
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.1.0' } });
     Object.defineProperty(process, 'arch', { value: 'riscv64' });\n`,
  );
  const failed = await run(process.execPath, ['-r', preload, LAUNCH, 'start']).catch((error) => error);
  t.is(failed.code, 1);
  t.regex(failed.stderr, /^sluice: Node\.js 22\.20 or newer is needed, this is 18\.1\.0, [^\n]*\n$/);
});

test('a build is stale once a source, a generated file or the lock file changes', (t) => {
  const root = join(folder, 'tree');
  mkdirSync(join(root, 'src/lib'), { recursive: true });
  writeFileSync(join(root, 'src/lib/a.ts'), 'a');
  writeFileSync(join(root, 'package-lock.json'), '{}');
  const seen = new Set([fingerprint(root)]);
  t.true(seen.has(fingerprint(root)));
  for (const [file, text] of [
    ['src/lib/a.ts', 'ab'],
    ['src/lib/b.ts', ''],
    ['package-lock.json', '{ }'],
  ] as const) {
    writeFileSync(join(root, file), text);
    const now = fingerprint(root);
    t.false(seen.has(now), file);
    seen.add(now);
  }
  rmSync(join(root, 'src/lib/b.ts'));
  writeFileSync(join(root, 'src/lib/a.ts'), 'abc');
  t.false(seen.has(fingerprint(root)));
});

/** The workspace key that the first start prints. */
async function firstKey(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const key = /^Workspace API key\b.*?(slk_\S+)/.exec(line)?.[1];
    if (key) return key;
  }
  throw new Error('the start printed no key');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** npx and what it started are one group. */
async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  await gone;
}
