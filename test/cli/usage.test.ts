// What the command line says of itself: asked for help or its version it does nothing else.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { answerTo } from '../../src/cli/usage.ts';

function run(...args: string[]): {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/main.ts', ...args], {
    encoding: 'utf8',
    timeout: 30_000,
    env: { PATH: process.env.PATH, PORT: '0', GATEWAY_DATA_DIR: dataDir },
  });
  return { status, out: stdout, err: stderr };
}

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-usage-'));
test.after.always(() => rmSync(dataDir, { recursive: true, force: true }));

const COMMANDS = [
  ...['start', 'doctor', 'keys create', 'keys rotate-encryption', 'organisations create', 'migrate'],
  ...['ledger re-rate', 'ledger verify'],
];

test('help and version of each command, without doing it', (t) => {
  for (const command of COMMANDS)
    for (const ask of ['--help', '-h']) {
      const answer = answerTo([...command.split(' '), ask]) ?? '';
      t.true(answer.startsWith(`usage:\n  sluice ${command}`), `${command} ${ask}`);
      t.is(answer.split('\n  sluice').length, 2, 'of that command alone');
    }
  for (const command of COMMANDS)
    t.regex(answerTo([...command.split(' '), '--version']) ?? '', /^\d+\.\d+\.\d+\n$/);
  t.is(answerTo(['keys', 'create', '--name', 'n']), undefined);
  t.is(answerTo(['start']), undefined);
});

test('exit codes: asked for help 0, and a start that is asked for help makes nothing', (t) => {
  for (const args of [['--help'], ['-h'], ['help'], ['--version'], ['start', '--help'], ['keys', '-h']]) {
    const { status, out, err } = run(...args);
    t.is(status, 0, args.join(' '));
    t.not(out, '');
    t.is(err, '');
  }
  for (const args of [[], ['fly'], ['keys'], ['start', '--fast']]) {
    const { status, out, err } = run(...args);
    t.is(status, 1, args.join(' '));
    t.is(out, '');
    t.not(err, '');
  }
  t.deepEqual(readdirSync(dataDir), []);
});
