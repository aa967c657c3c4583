// Runs ava with the real servers that the machine has, started once for all test files:
//   node test/support/run.ts [--servers required] [ava's arguments]
// `--servers required` installs what is missing and fails when a server was not used. The last lines say what
// ran on real servers and what did not, and how many tests passed and failed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { installServers } from './servers/install.ts';
import { type SharedServer, sharedMongo, sharedRedis } from './servers/shared.ts';

const AVA = fileURLToPath(new URL('../../node_modules/ava/entrypoints/cli.js', import.meta.url));
const COMPILED = fileURLToPath(new URL('../../.cache/compiled', import.meta.url));
/** How ava marks a test that passed. */
const PASSED = /^ {2}✔ /;
/** Ava's closing lines on what failed. */
const FAILED = /^ {2}(\d+) (?:tests?|hooks?) failed/;

/** What ava said, counted as it came. */
interface Outcome {
  readonly code: number;
  readonly passed: number;
  readonly failed: number;
}

const args = process.argv.slice(2);
const option = args.indexOf('--servers');
const required = option >= 0 && args[option + 1] === 'required';
if (option >= 0) args.splice(option, 2);
process.exitCode = await main();

async function main(): Promise<number> {
  if (required) installServers();
  const runFolder = mkdtempSync(join(tmpdir(), 'sluice-tests-'));
  process.env.SLUICE_TEST_RUN_DIR = runFolder;
  const servers: SharedServer[] = [];
  try {
    servers.push(...(await Promise.all([sharedMongo(runFolder), sharedRedis(runFolder)])));
    return report(servers, await runAva(environmentWith(servers, runFolder)));
  } finally {
    for (const server of servers) await server.stop();
    killLeftOver(runFolder);
    rmSync(runFolder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Tests learn the addresses under names of their own, so that no gateway that they start takes them for settings. */
function environmentWith(servers: readonly SharedServer[], runFolder: string): NodeJS.ProcessEnv {
  const { MONGODB_URI: _mongo, REDIS_URL: _redis, ...rest } = process.env;
  const environment: NodeJS.ProcessEnv = { ...rest, SLUICE_TEST_RUN_DIR: runFolder };
  // Every test file and every gateway that it starts loads the same modules: their types are stripped once.
  environment.NODE_COMPILE_CACHE ??= COMPILED;
  for (const { variable, address, disposable } of servers) {
    if (address !== undefined) environment[variable] = address;
    if (disposable) environment[`${variable}_DISPOSABLE`] = '1';
  }
  if (process.stdout.isTTY && environment.NO_COLOR === undefined) environment.FORCE_COLOR ??= '1';
  return environment;
}

/** Runs ava, its output passed on as it comes. A signal to this process goes on to it, so that all ends in order. */
function runAva(env: NodeJS.ProcessEnv): Promise<Outcome> {
  const ava = spawn(process.execPath, [AVA, ...args], { env, stdio: ['inherit', 'pipe', 'inherit'] });
  ava.stdout.pipe(process.stdout, { end: false });
  let passed = 0;
  let failed = 0;
  createInterface({ input: ava.stdout }).on('line', (coloured) => {
    const line = stripVTControlCharacters(coloured);
    if (PASSED.test(line)) passed++;
    failed += Number(FAILED.exec(line)?.[1] ?? 0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ava.kill(signal));
  return new Promise((resolve, reject) => {
    ava.once('error', reject);
    ava.once('close', (code) => resolve({ code: code ?? 1, passed, failed }));
  });
}

function report(servers: readonly SharedServer[], outcome: Outcome): number {
  let { code } = outcome;
  for (const server of servers) {
    if (server.used()) {
      process.stdout.write(`${server.label}: used (${server.what})\n`);
      continue;
    }
    const why = server.address === undefined ? server.what : 'no test file of this run asked for it';
    process.stdout.write(`${server.label}: NOT USED, ${why}\n`);
    if (required) code ||= 1;
  }
  // A file that broke off has no failed test in ava's books, and is no success either.
  const failed = outcome.failed || (outcome.code === 0 ? 0 : 1);
  process.stdout.write(`${outcome.passed} passed, ${failed} failed\n`);
  return code;
}

/** Ends servers whose test did not get to it, by the process ids that they left in the run's folder. */
function killLeftOver(runFolder: string): void {
  for (const name of readdirSync(runFolder)) {
    try {
      process.kill(Number(readFileSync(join(runFolder, name, 'pid'), 'utf8')), 'SIGKILL');
    } catch {
      // It is no server's folder, or the server is gone.
    }
  }
}
