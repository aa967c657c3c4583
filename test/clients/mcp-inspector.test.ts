// The inspector's command line, as it is published: installed into .cache on first use.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';

const run = promisify(execFile);
const VERSION = '2.12.0';
const FOLDER = resolve('.cache', 'mcp-inspector');
const SCRIPT = join(FOLDER, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');

let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
let home: string;
test.before(async () => {
  home = mkdtempSync(join(tmpdir(), 'sluice-inspector-'));
  [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
  rmSync(home, { recursive: true, force: true });
});

/** False when it cannot be had, which has been told loudly. */
async function isInstalled(t: ExecutionContext): Promise<boolean> {
  if (existsSync(SCRIPT)) return true;
  try {
    mkdirSync(FOLDER, { recursive: true });
    t.log(`installing @modelcontextprotocol/inspector@${VERSION} into .cache/mcp-inspector`);
    const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--silent'];
    await run('npm', ['install', ...quiet, '--prefix', FOLDER, `@modelcontextprotocol/inspector@${VERSION}`]);
    if (existsSync(SCRIPT)) return true;
  } catch (error) {
    t.log(error instanceof Error ? error.message : String(error));
  }
  t.log('*** SKIPPED: the inspector was NOT tested, it cannot be had ***');
  t.pass();
  return false;
}

async function inspector(path: string, ...args: string[]): Promise<string> {
  const target = [`${gateway.origin}${path}`, '--transport', 'http'];
  const header = ['--header', `Authorization: Bearer ${WORKSPACE_KEY}`];
  const { stdout } = await run(process.execPath, [SCRIPT, '--cli', ...target, ...header, ...args], {
    env: { PATH: process.env.PATH, HOME: home },
    timeout: 120_000,
  });
  return stdout;
}

test('the inspector lists and calls tools at servers of both generations and at all of them', async (t) => {
  t.timeout(400_000);
  if (!(await isInstalled(t))) return;
  for (const [path, prefix] of [
    ['/older/mcp', ''],
    ['/newer/mcp', ''],
    ['/mcp', 'newer__'],
  ] as const) {
    const name = `${prefix}test_simple_text`;
    t.true((await inspector(path, '--method', 'tools/list')).includes(`"${name}"`), path);
    for (const era of ['legacy', 'modern']) {
      const call = ['--method', 'tools/call', '--tool-name', name, '--protocol-era', era];
      t.regex(await inspector(path, ...call), /simple text response/, `${path} ${era}`);
    }
  }
  t.regex(await inspector('/older/mcp', '--method', 'prompts/list'), /test_simple_prompt/);
  t.regex(await inspector('/newer/mcp', '--method', 'resources/list'), /test:\/\//);
});
