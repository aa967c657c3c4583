// What the command line says of itself: asked for help or its version it does nothing else.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { CommanderError } from 'commander';
import { COMMANDS, program, type Run } from '../../src/cli/program.ts';
import { PROGRAM } from '../support/program.ts';
import { runCommand } from './run-command.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-usage-'));
const env = { PORT: '0', GATEWAY_DATA_DIR: dataDir };
test.after.always(() => rmSync(dataDir, { recursive: true, force: true }));

/** What the parser prints and exits with, in this process. */
async function parsed(...args: string[]): Promise<{ code: number; out: string; err: string; ran: string[] }> {
  let [out, err] = ['', ''];
  const ran: string[] = [];
  const runs = new Map(COMMANDS.map(({ words }): [string, Run] => [words, async () => void ran.push(words)]));
  const root = program(runs, args);
  for (const one of [root, ...root.commands, ...root.commands.flatMap(({ commands }) => commands)])
    one.configureOutput({
      writeOut: (text) => {
        out += text;
      },
      writeErr: (text) => {
        err += text;
      },
    });
  try {
    await root.parseAsync(args, { from: 'user' });
    return { code: 0, out, err, ran };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode, out, err, ran };
  }
}

test('help and version of each command, without doing it', async (t) => {
  for (const { words } of COMMANDS)
    for (const ask of ['--help', '-h', '--version', '-v']) {
      const { code, out, ran } = await parsed(...words.split(' '), ask);
      t.is(code, 0, `${words} ${ask}`);
      t.deepEqual(ran, []);
      if (!/v/.test(ask)) t.true(out.includes(`sluice ${words}`), out);
    }
});

test('an unknown command or option names the nearest', async (t) => {
  for (const [args, meant] of [
    [['key', 'list'], 'keys'],
    [['keys', 'lst'], 'list'],
    [['aply'], 'apply'],
    [['start', '--prot', '1'], '--port'],
    [['plan', '--fil', 'x'], '--file'],
  ] as const) {
    const { code, err, ran } = await parsed(...args);
    t.is(code, 1, args.join(' '));
    t.regex(err, new RegExp(`[Dd]id you mean ${meant}`), err);
    t.deepEqual(ran, []);
  }
});

test('exit codes: asked for help 0, and a start that is asked for help makes nothing', async (t) => {
  for (const args of [
    ['--help'],
    ['help'],
    ['--version'],
    ['-v'],
    ['keys', 'list', '-V'],
    ['version'],
    ['start', '--help'],
    ['keys', '-h'],
  ]) {
    const { code, out, err } = await runCommand(args, env);
    t.is(code, 0, args.join(' '));
    t.not(out, '');
    t.is(err, '');
  }
  for (const args of [[], ['fly'], ['keys'], ['start', '--fast']]) {
    const { code, out, err } = await runCommand(args, env);
    t.is(code, 1, args.join(' '));
    t.is(out, '');
    t.not(err, '');
  }
  // The same of the program itself; a wrong value is told by the name that it was given by.
  for (const [args, status, told] of [
    [['start', '-h'], 0, 'Usage: sluice start'],
    [['start', '-v'], 0, ''],
    [['start', '--fast'], 1, "unknown option '--fast'"],
    [['start', '--port', 'abc'], 1, '--port: must be a whole number from 0 to 65535'],
    [['start', '--port='], 1, '--port: is empty'],
    [['start', '--data-dir', ''], 1, '--data-dir: is empty'],
    [['start', '--data-dir', '/dev/null'], 1, 'it is no folder; set GATEWAY_DATA_DIR (or --data-dir) to one'],
    [['start', '--data-dir', '/proc/sluice'], 1, 'set GATEWAY_DATA_DIR (or --data-dir) to a folder'],
  ] as const) {
    const ran = spawnSync(process.execPath, [PROGRAM, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
      env: { PATH: process.env.PATH, ...env },
    });
    t.is(ran.status, status, ran.stderr);
    const text = status === 0 ? ran.stdout : ran.stderr;
    t.not(text, '');
    t.true(text.includes(told), text);
  }
  t.deepEqual(readdirSync(dataDir), []);
});
