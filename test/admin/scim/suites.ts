// npm run scim: the suites scim2-tester and scim-sanity (PyPI) against a gateway, in a virtual environment of their own.
// Needs python3 with venv; both must pass without a failure.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startGateway } from '../../support/gateway.ts';
import { newScimToken } from '../../support/scim-client.ts';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../../../.cache/scim', import.meta.url));
const PACKAGES = ['scim2-tester==0.5.2', 'scim2-cli==0.6.0', 'scim-sanity==0.7.4'];
const BOUND_MS = 300_000;

if (!existsSync(`${FOLDER}/bin/scim-sanity`)) {
  await run('python3', ['-m', 'venv', FOLDER], { timeout: BOUND_MS });
  await run(`${FOLDER}/bin/pip`, ['install', '-q', ...PACKAGES], { timeout: BOUND_MS });
}
const gateway = await startGateway({ LOG_LEVEL: 'warn' });
let failed = false;
try {
  const { token } = await newScimToken(gateway);
  const url = `${gateway.origin}/scim/v2`;
  const tester = await told('scim2', ['--url', url, '-h', `Authorization: Bearer ${token}`, 'test']);
  const faults = tester.out.split('\n').filter((line) => /^(?:ERROR|CRITICAL) /.test(line));
  const passed = tester.out.split('\n').filter((line) => line.startsWith('SUCCESS ')).length;
  console.log(`scim2-tester: ${passed} passed, ${faults.length} failed`);
  const sanity = await told('scim-sanity', ['probe', url, '--token', token, '--i-accept-side-effects']);
  console.log(`scim-sanity: ${/\d+ passed.*total/.exec(sanity.out)?.[0] ?? 'no result'}`);
  failed = passed === 0 || faults.length > 0 || sanity.code !== 0;
  if (failed) console.log(tester.out, sanity.out);
} finally {
  await gateway.close();
}
process.exitCode = failed ? 1 : 0;

async function told(command: string, args: readonly string[]): Promise<{ out: string; code: number }> {
  try {
    const { stdout, stderr } = await run(`${FOLDER}/bin/${command}`, args, {
      timeout: BOUND_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
    return { out: stdout + stderr, code: 0 };
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      code = 1,
    } = error as { stdout?: string; stderr?: string; code?: number };
    return { out: stdout + stderr, code };
  }
}
