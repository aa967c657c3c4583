// Runs ava with the real servers that the machine has, started once for all test files:
//   node test/support/run.ts [--servers required] [ava's arguments]
// Without files it runs all of them, most of them in groups that share a process (see together/groups.ts).
// What failed, when it is little, is run again by itself; tests that pass then are named, because a test that passes at
// times only is a fault, in the test or in the code. SLUICE_TESTS=strict lets the run fail for them.
// `--servers required` installs what is missing and fails when a server was not used. The last lines say what
// ran on real servers and what did not, and how many tests passed and failed.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { durations } from './durations.ts';
import { installServers } from './servers/install.ts';
import { type SharedServer, sharedMongo, sharedRedis } from './servers/shared.ts';
import { entries, groups } from './together/groups.ts';

const AVA = fileURLToPath(new URL('../../node_modules/ava/entrypoints/cli.js', import.meta.url));
const COMPILED = fileURLToPath(new URL('../../.cache/compiled', import.meta.url));
/** How ava marks a test that passed: its title, and how long it took. */
const PASSED = /^ {2}✔ (.+?)(?: \([\d.ms ]+\))?$/;
/** Ava's closing lines on what failed. */
const FAILED = /^ {2}(\d+) (?:tests?|hooks?) failed/;
/** A test that failed, as it is told when it did: its file's path and its title, parted by `›`. */
const FAILURE = /^ {2}✘ \[fail\]: (.+)$/;
/** A line on a test of a group: the group's entry, and a duration that counts from when the group began, not the test. */
const GROUPED = new RegExp(
  `(^ {2}\\S+ (?:\\[fail\\]: )?)(?:groups › )?(?:${[...groups().keys()].join('|')}) › (.*?)(?: \\([\\d.ms ]+\\))?$`,
);
/** Files that broke off, timed out, or had none: nothing that a second look could mend. */
const TROUBLE = /^ {2}✘ (?!\[fail\]: )|^ {2}\d+ (?:uncaught|unhandled)/;
/** A file whose tests ended and that did not exit: the mark of a failed test that closed nothing, else a fault. */
const LEFT_OPEN = /LEFT OPEN after its tests: /;
/** More tests than that do not fail for want of a quiet machine. */
const MOST_AGAIN = 40;
/** How many of the slowest files the end of a run names. */
const SLOWEST = 20;
const TESTS = fileURLToPath(new URL('..', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = join(ROOT, 'dist', 'main.js');
/** A folder in memory, on Linux. */
const IN_MEMORY = '/dev/shm';
/** Bytes that the files of a run may need. */
const ROOM = 4e9;
/** As gateways start: young objects die before they are moved, which saves a tenth of the CPU. */
const YOUNG = '--max-semi-space-size=32';
const { build, isFresh } = createRequire(import.meta.url)('../../src/launch.cjs') as {
  build(node: string): boolean;
  isFresh(root: string): boolean;
};

/** What ava said, counted as it came. */
interface Outcome {
  readonly code: number;
  readonly passed: number;
  readonly failed: number;
  /** Tests that failed, by file, title and what they said. */
  readonly failures: readonly string[];
  /** The titles of those that passed. */
  readonly passes: ReadonlySet<string>;
  /** Something else went wrong. */
  readonly trouble: boolean;
}

const args = process.argv.slice(2);
const option = args.indexOf('--servers');
const required = option >= 0 && args[option + 1] === 'required';
if (option >= 0) args.splice(option, 2);
process.exitCode = await main();

async function main(): Promise<number> {
  if (required) await installServers();
  const files = args.some((arg) => /[/*]|\.ts$/.test(arg)) ? [] : entries();
  const runFolder = mkdtempSync(join(quickestFolder(), 'sluice-tests-'));
  process.env.SLUICE_TEST_RUN_DIR = runFolder;
  const servers: SharedServer[] = [];
  try {
    servers.push(...(await Promise.all([sharedMongo(runFolder), sharedRedis(runFolder)])));
    const environment = environmentWith(servers, runFolder);
    if (freshBuild(files.length > 0)) environment.SLUICE_TEST_PROGRAM ??= BUILT;
    const outcome = await runAva([...args, ...files], environment);
    tellSlowest(runFolder);
    const flaky = await nameFlaky(outcome, environment);
    return report(servers, flaky === outcome.failed && flaky > 0 ? settled(outcome) : outcome);
  } finally {
    for (const server of servers) await server.stop();
    killLeftOver(runFolder);
    rmSync(runFolder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Names the files that took longest, where there are many: they are what the run's time goes to. */
function tellSlowest(runFolder: string): void {
  const all = durations(runFolder);
  if (all.length <= SLOWEST) return;
  process.stdout.write(`\nslowest of ${all.length} files, in seconds, and CPU seconds of their thread\n`);
  for (const { file, seconds, cpu } of all.slice(0, SLOWEST)) {
    process.stdout.write(`${seconds.toFixed(1).padStart(7)} ${cpu.toFixed(1).padStart(6)}  ${file}\n`);
  }
}

/**
 * Where tests keep what they store: in memory where there is enough, because most of their waiting is for a disk that
 * has written something down for good.
 */
function quickestFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    if (bavail * bsize >= ROOM && freemem() >= 2 * ROOM) return IN_MEMORY;
  } catch {
    // There is none.
  }
  return tmpdir();
}

/** Whether dist/ is what the sources make. @param made whether it is built when it is not */
function freshBuild(made: boolean): boolean {
  return isFresh(ROOT) || (made && build(process.execPath));
}

/** Tests learn the addresses under names of their own, so that no gateway that they start takes them for settings. */
function environmentWith(servers: readonly SharedServer[], runFolder: string): NodeJS.ProcessEnv {
  const { MONGODB_URI: _mongo, REDIS_URL: _redis, ...rest } = process.env;
  const environment: NodeJS.ProcessEnv = { ...rest, SLUICE_TEST_RUN_DIR: runFolder };
  environment.TMPDIR = join(runFolder, 'tmp');
  mkdirSync(environment.TMPDIR);
  environment.NODE_OPTIONS = `${rest.NODE_OPTIONS ?? ''} ${YOUNG}`.trim();
  // Every test file and every gateway that it starts loads the same modules: their types are stripped once.
  environment.NODE_COMPILE_CACHE ??= COMPILED;
  for (const { variable, address, disposable } of servers) {
    if (address !== undefined) environment[variable] = address;
    if (disposable) environment[`${variable}_DISPOSABLE`] = '1';
  }
  if (process.stdout.isTTY && environment.NO_COLOR === undefined) environment.FORCE_COLOR ??= '1';
  return environment;
}

/** Runs ava, its output passed on line by line. A signal to this process goes on to it, so that all ends in order. */
function runAva(given: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const ava = spawn(process.execPath, [AVA, ...given], { env, stdio: ['inherit', 'pipe', 'inherit'] });
  let passed = 0;
  let failed = 0;
  const passes = new Set<string>();
  let trouble = false;
  let leftOpen = false;
  const failures: string[] = [];
  createInterface({ input: ava.stdout }).on('line', (coloured) => {
    const plain = stripVTControlCharacters(coloured);
    const line = plain.replace(GROUPED, '$1$2');
    process.stdout.write(`${line === plain ? coloured : line}\n`);
    const title = PASSED.exec(line)?.[1];
    if (title !== undefined) {
      passed++;
      passes.add(title);
    }
    failed += Number(FAILED.exec(line)?.[1] ?? 0);
    failures.push(...(FAILURE.exec(line)?.slice(1) ?? []));
    trouble ||= TROUBLE.test(line);
    leftOpen ||= LEFT_OPEN.test(line);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ava.kill(signal));
  return new Promise((resolve, reject) => {
    ava.once('error', reject);
    ava.once('close', (code) => {
      const forgot = leftOpen && failed === 0;
      resolve({ code: code || Number(forgot), passed, failed, failures, passes, trouble: trouble || forgot });
    });
  });
}

/** A run whose failures all passed at the second look, unless SLUICE_TESTS=strict. */
function settled(outcome: Outcome): Outcome {
  if (process.env.SLUICE_TESTS === 'strict') return outcome;
  return { ...outcome, code: 0, passed: outcome.passed + outcome.failed, failed: 0 };
}

/** Runs the files of what failed again, one after the other, names the tests that pass then, and says how many. */
async function nameFlaky(first: Outcome, env: NodeJS.ProcessEnv): Promise<number> {
  const { failures, failed, trouble } = first;
  // A group whose failed test left something open does not exit: its failed files are looked at all the same.
  if (failed === 0 || failed > MOST_AGAIN) return 0;
  if (trouble) process.stdout.write('files broke off or did not exit: see above\n');
  const files = new Set(failures.flatMap((failure) => fileOf(failure) ?? []));
  if (files.size === 0) return 0;
  process.stdout.write(`\n${failed} failed: their files once more, by themselves\n`);
  const again = await runAva([...args.filter((arg) => arg.startsWith('-')), '--serial', ...files], env);
  let flaky = 0;
  for (const failure of failures) {
    // A file that is run by itself is not named before its tests.
    if (again.failures.some((still) => failure.endsWith(still))) continue;
    if (![...again.passes].some((title) => failure.includes(title))) continue;
    process.stdout.write(`FLAKY, passed at a second look only: ${failure}\n`);
    flaky++;
  }
  return again.trouble ? 0 : flaky;
}

/** The file of a test by what ava calls it, which begins with the file's path below the tests. */
function fileOf(failure: string): string | undefined {
  const parts = failure.split(' › ');
  for (let length = parts.length - 1; length > 0; length--) {
    const path = join(TESTS, `${parts.slice(0, length).join('/')}.test.ts`);
    if (existsSync(path)) return path;
  }
  return undefined;
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
