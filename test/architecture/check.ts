// `npm run check`: everything that can be said of a change without running it.
// Reads the tree, writes nothing into it and needs no network. `-- --without-tests` leaves out the architecture tests, for a
// caller that runs the whole suite, which has them.
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { driftOf, generated } from './generated.ts';
import { tableDrift } from './guide-tables.ts';
import { run } from './tools.ts';

/** How a step went: why it was skipped, or what is wrong. */
interface Result {
  readonly skipped?: string;
  readonly wrong?: string;
}

/** What biome reads; results that stages leave beside the root's JSON are not ours to format. */
const WRITTEN_BY_HAND = ['src', 'test', 'package.json', 'biome.json', 'tsconfig.json'];

// Tools in Go are over before their garbage is too much to be kept: collecting takes them a third of their CPU.
process.env.GOGC ??= 'off';
process.env.GOMEMLIMIT ??= '3GiB';

const STEPS: readonly (readonly [string, () => Promise<Result>])[] = [
  ['generate: no drift', noDrift],
  ['buf format', tool('buf', 'format', '--diff', '--exit-code')],
  ['buf lint', tool('buf', 'lint')],
  ['buf breaking against main', breaking],
  ['biome: format and lint', tool('biome', 'ci', '--error-on-warnings', '--colors=off', ...WRITTEN_BY_HAND)],
  ['tsc: types', compiler('--noEmit')],
  ['tsc: types of the console', compiler('--noEmit', '-p', 'src/console')],
  ...(process.argv.includes('--without-tests')
    ? []
    : [['ava: architecture', tool('ava', 'test/architecture/**/*.test.ts')] as const]),
];

const failed: string[] = [];
for (const [name, step] of STEPS) {
  const began = performance.now();
  const { skipped, wrong } = await step().catch((error: unknown): Result => ({ wrong: String(error) }));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const word = wrong !== undefined ? 'FAIL' : skipped !== undefined ? 'skip' : 'ok';
  process.stdout.write(
    `${word.padEnd(5)} ${name.padEnd(28)} ${seconds.padStart(5)} s  ${skipped ?? ''}`.trimEnd(),
  );
  process.stdout.write('\n');
  if (wrong === undefined) continue;
  failed.push(name);
  process.stdout.write(`${wrong.trimEnd()}\n\n`);
}
if (failed.length > 0) process.stdout.write(`failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

function tool(command: string, ...args: readonly string[]): () => Promise<Result> {
  return async () => {
    const { code, output } = await run(command, args);
    return code === 0 ? {} : { wrong: output || `${command} ended with ${code}` };
  };
}

/** The compiler; its threads check some things each for itself, which helps where there are many cores. */
function compiler(...args: readonly string[]): () => Promise<Result> {
  return tool('tsc', ...args, ...(availableParallelism() > 2 ? [] : ['--singleThreaded']));
}

async function noDrift(): Promise<Result> {
  const drift = [...(await driftOf(await generated())), ...(await tableDrift())];
  return drift.length === 0 ? {} : { wrong: `${drift.join('\n')}\nRun: npm run generate` };
}

/** Compares with the commit of main, taken as an archive: it works in worktrees, shallow clones and on other branches. */
async function breaking(): Promise<Result> {
  const main = await commitOfMain();
  if (main === undefined) return { skipped: 'there is no branch main' };
  if ((await run('git', ['cat-file', '-e', `${main}:proto`])).code !== 0)
    return { skipped: 'main has no proto yet' };
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-main-'));
  try {
    const archive = join(scratch, 'main.tar');
    const packed = await run('git', [
      'archive',
      '--format=tar',
      `--output=${archive}`,
      main,
      'proto',
      'buf.yaml',
    ]);
    if (packed.code !== 0) return { wrong: packed.output };
    return await tool('buf', 'breaking', '--against', archive)();
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function commitOfMain(): Promise<string | undefined> {
  for (const ref of ['refs/heads/main', 'refs/remotes/origin/main']) {
    const { code, stdout } = await run('git', ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    if (code === 0) return stdout.toString('utf8').trim();
  }
  return undefined;
}
