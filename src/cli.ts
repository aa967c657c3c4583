// The `sluice` command. Each command loads what it needs when it runs: the help of one loads no gateway.
import { CommanderError } from 'commander';
import { outputTo, type Terminal } from './cli/output.ts';
import { program, type Run } from './cli/program.ts';
import { optional, remoteOf } from './cli/remote-options.ts';
import type { StateOptions } from './cli/state-commands.ts';
import { version, versionAsked } from './cli/usage.ts';
import { watchOutput } from './lib/broken-output.ts';

type Parts = Parameters<Run>;
/** What runs a command. Resolves with the exit code; none: 0. */
type Command = (
  terminal: Terminal,
  options: Parts[1],
  operands: Parts[2],
  args: Parts[0],
) => Promise<number> | Promise<void>;

const keys = () => import('./cli/key-commands.ts');
const lists = () => import('./cli/list-commands.ts');
const state = () => import('./cli/state-commands.ts');
const stores = () => import('./cli/store-commands.ts');

/** Exit codes of `diff`. */
const DIFFERS = 1;
const FAULTY = 2;

/** A command on declared state. */
const stateOf = (options: Parts[1]): StateOptions => ({
  file: 'sluice.yaml',
  ...remoteOf(options),
  ...optional({ file: options.file, source: options.source }),
});

const diff: Command = async ({ env, out, tell }, options) => {
  try {
    return (await (await state()).diff(stateOf(options), env, out)) ? DIFFERS : 0;
  } catch (error) {
    tell(messageOf(error));
    return FAULTY;
  }
};

/** By its words. */
const COMMANDS: Readonly<Record<string, Command>> = {
  start: async (_, options) => (await import('./cli/start.ts')).start(options),
  doctor: async (terminal, _o, _, args) => (await stores()).doctorCommand(args, terminal),
  'accept-loss': async (terminal, _o, _, args) => (await stores()).acceptLossCommand(args, terminal),
  'keys list': async ({ env, out }, options) => (await lists()).listKeys(remoteOf(options), env, out),
  'keys create': async (terminal, options) => (await keys()).createKeyCommand(options, terminal),
  'keys revoke': async ({ env, out }, options, [id = '']) =>
    (await lists()).revokeKey(id, remoteOf(options), env, out),
  'keys rotate': async ({ env, out }, options, [id = '']) =>
    (await lists()).rotateKey(id, remoteOf(options), env, out),
  'keys recover': async (terminal, options) => (await keys()).recoverCommand(options, terminal),
  'keys rotate-encryption': async (terminal, _o, _, args) =>
    (await import('./cli/rotate-encryption.ts')).rotateEncryptionCommand(args, terminal),
  'providers list': async ({ env, out }, options) => {
    const asked = { ...remoteOf(options), ...optional({ workspace: options.workspace }) };
    return (await lists()).listProviders(asked, env, out);
  },
  'budgets list': async ({ env, out }, options) => (await lists()).listBudgets(remoteOf(options), env, out),
  'logs tail': async ({ env, out }, options) => {
    const asked = { lines: String(options.lines), follow: options.follow !== false };
    return (await lists()).tailLogs({ ...remoteOf(options), ...asked }, env, out);
  },
  'logs export': async (terminal, options) => {
    const { output, from, to, workspace, fields, limit } = options;
    const asked = optional({ output, from, to, workspace, fields, limit });
    await (await import('./cli/export-logs.ts')).exportLogs({ ...remoteOf(options), ...asked }, terminal);
  },
  mcp: async ({ env }, options, [server]) =>
    (await import('./cli/mcp/command.ts')).mcpCommand(options, server, env),
  plan: async ({ env, out }, options) => (await state()).plan(stateOf(options), env, out),
  apply: async ({ env, out }, options) => (await state()).apply(stateOf(options), env, out),
  diff,
  export: async ({ env, out }, options) => (await state()).exportState(remoteOf(options), env, out),
  'organisations create': async (terminal, _o, _, args) =>
    (await import('./cli/create-organisation.ts')).createOrganisationCommand(args, terminal),
  migrate: async (terminal, _o, _, args) => (await stores()).migrateCommand(args, terminal),
  'ledger re-rate': async (terminal, _o, _, args) => (await stores()).reRateCommand(args, terminal),
  'ledger verify': async (terminal, _o, _, args) => (await stores()).verifyCommand(args, terminal),
};

/**
 * Runs a command line and resolves with its exit code. A failure tells its reason.
 * @param parserOut where the parser prints help; stdout if absent
 */
export async function commandLine(
  args: readonly string[],
  terminal: Terminal,
  parserOut?: (text: string) => void,
): Promise<number> {
  const { out, tell } = terminal;
  if (versionAsked(args)) {
    out.line(version());
    return 0;
  }
  let code = 0;
  const runs = Object.entries(COMMANDS).map(([words, command]): [string, Run] => [
    words,
    async (rest, options, operands) => {
      code = Number(await command(terminal, options, operands, rest)) || 0;
    },
  ]);
  const parser = program(new Map(runs), args, {
    writeErr: (text) => tell(text.replace(/\n$/, '')),
    ...(parserOut && { writeOut: parserOut }),
  });
  try {
    await parser.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // What the parser refuses it has told already.
    if (error instanceof CommanderError) return error.exitCode;
    tell(messageOf(error));
    if (args.includes('--json')) await tellFaults(error, terminal);
    return 1;
  }
}

/** Runs the command line of this process. */
export async function runCommand(args: readonly string[]): Promise<void> {
  const { env, stdout, stderr } = process;
  const tell = (line: string): void => void stderr.write(`${line}\n`);
  const ended = watchOutput(process, () => {
    // A gateway serves on without its log.
    if (args[0] !== 'start') process.exitCode = 1;
  });
  const code = await commandLine(args, { env, out: outputTo(stdout, env, ended), tell });
  // Work of a command that failed does not hold the process.
  if (code === 1) process.exit(code);
  process.exitCode ??= code;
}

/** Faults of declared state for machines too. */
async function tellFaults(error: unknown, { out }: Terminal): Promise<void> {
  const { DeclaredFaults } = await import('./lib/declared-files.ts');
  if (error instanceof DeclaredFaults) out.json({ faults: error.faults });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
