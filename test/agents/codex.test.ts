// Codex from npm, unchanged, doing a task of five turns with tools, one of them its free-form apply_patch: against a
// provider that publishes Responses, one that only chats, and one of Anthropic's wire.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { npmAgent } from './npm-agent.ts';
import { CALLS, PATCHED, startScriptedProvider } from './scripted-provider.ts';

const VERSION = '0.169.0';
const RUN_MS = 120_000;

const codex = await npmAgent('@openai/codex', VERSION, 'codex');
if (codex === undefined) {
  test('codex is not installed here', (t) => {
    t.log(`@openai/codex ${VERSION} could not be had from npm: its tasks were not run`);
    t.pass();
  });
} else {
  for (const wire of ['openai', 'openai-compatible', 'anthropic']) {
    test.serial(`a task of five turns over ${wire}`, async (t) => {
      t.timeout(RUN_MS * 2);
      const [gateway, provider] = await Promise.all([startGateway(), startScriptedProvider()]);
      const home = mkdtempSync(join(tmpdir(), 'sluice-codex-'));
      try {
        const { code, out } = await task(codex, home, gateway, wire, `${provider.origin}/v1`);
        t.is(code, 0, out);
        t.regex(out, /all done/);
        t.is(provider.turns.length, CALLS + 1);
        t.is(readFileSync(join(home, PATCHED.file), 'utf8').trim(), PATCHED.text);
        t.true(JSON.stringify(provider.turns[0]!.tools).includes('apply_patch'));
        t.false(out.includes('no patch'), out);
        const last = JSON.stringify(provider.turns.at(-1));
        for (let turn = 1; turn <= CALLS; turn++) t.true(last.includes(`turn-${turn}`), `turn ${turn}`);
      } finally {
        await provider.close();
        await gateway.close();
        rmSync(home, { recursive: true, force: true });
      }
    });
  }
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

function task(
  bin: string,
  home: string,
  { origin }: TestGateway,
  wire: string,
  host: string,
): Promise<Ended> {
  const config = JSON.stringify({ provider: wire, api_key: 'sk-of-the-provider', custom_host: host });
  const args = [
    ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
    ...['-c', 'model_provider="sluice"', '-c', 'model="gpt-5.5"'],
    ...['-c', 'model_providers.sluice.name="Sluice"'],
    ...['-c', `model_providers.sluice.base_url="${origin}/v1"`],
    ...['-c', 'model_providers.sluice.wire_api="responses"'],
    ...['-c', 'model_providers.sluice.env_key="SLUICE_KEY"'],
    ...['-c', `model_providers.sluice.http_headers={"x-gateway-config" = ${JSON.stringify(config)}}`],
    'Echo four lines, then stop.',
  ];
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? '', HOME: home, CODEX_HOME: home, SLUICE_KEY: WORKSPACE_KEY };
    const child = spawn(bin, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: RUN_MS });
    let out = '';
    const take = (data: Buffer): void => {
      out += String(data);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out }));
  });
}
