// The OpenAPI document under the linters that people use, with their own rules: nothing is found. They are installed into
// .cache/linters; where they cannot be had this is skipped loudly.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../architecture/tools.ts';

const FOLDER = join(ROOT, '.cache', 'linters');
const DOCUMENT = join(ROOT, 'gen', 'openapi.json');
const TIMEOUT_MS = 400_000;

interface Linter {
  readonly name: string;
  readonly package: string;
  readonly command: string;
  readonly rules: string;
  readonly args: (rules: string) => readonly string[];
}

const LINTERS: readonly Linter[] = [
  {
    name: 'redocly',
    package: '@redocly/cli@2.77.0',
    command: '@redocly/cli/bin/cli.js',
    // /prompts/partials/{partial_id} beside /prompts/{prompt_id}/versions and its like are the interface's own paths. The
    // router prefers a literal segment, so that no path is ambiguous here.
    rules: 'extends:\n  - recommended\nrules:\n  no-ambiguous-paths: off\n',
    args: (rules) => ['lint', DOCUMENT, '--config', rules, '--format', 'json'],
  },
  {
    name: 'spectral',
    package: '@stoplight/spectral-cli@6.16.3',
    command: '@stoplight/spectral-cli/dist/index.js',
    rules: 'extends: ["spectral:oas"]\n',
    args: (rules) => ['lint', DOCUMENT, '--ruleset', rules, '--format', 'json', '--quiet'],
  },
];

const run = (command: string, args: readonly string[]) =>
  promisify(execFile)(command, args, { cwd: FOLDER, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 });

/** Findings, as the linter's JSON has them. */
function findingsOf(stdout: string): readonly unknown[] {
  // Nothing at all is a linter that did not run.
  const said: unknown = JSON.parse(stdout.slice(Math.max(stdout.search(/[[{]/), 0)));
  if (Array.isArray(said)) return said;
  return (said as { readonly problems: readonly unknown[] }).problems;
}

for (const linter of LINTERS)
  test.serial(`${linter.name} finds nothing`, async (t) => {
    t.timeout(900_000);
    const entry = join(FOLDER, 'node_modules', linter.command);
    if (!existsSync(entry)) {
      mkdirSync(FOLDER, { recursive: true });
      if (!existsSync(join(FOLDER, 'package.json')))
        writeFileSync(join(FOLDER, 'package.json'), '{"private":true}\n');
      const quiet = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund'];
      const why = await run('npm', ['install', ...quiet, linter.package]).then(
        () => undefined,
        (error: unknown) => String(error).split('\n', 1)[0],
      );
      if (why !== undefined) {
        t.log(`*** SKIPPED: ${linter.name} was NOT run, it cannot be had: ${why} ***`);
        t.pass();
        return;
      }
    }
    const rules = join(FOLDER, `${linter.name}.yaml`);
    writeFileSync(rules, linter.rules);
    const { stdout } = await run(process.execPath, [entry, ...linter.args(rules)]).catch(
      // It exits with another code when it finds something, and says what.
      (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    );
    t.deepEqual(findingsOf(stdout), []);
  });
