// The commands and their options, as the parser knows them.
import { Command, type OutputConfiguration } from 'commander';
import { version } from './usage.ts';

/** What runs a command: its arguments after the command's words, its options, and its operands. */
export type Run = (
  args: readonly string[],
  options: Readonly<Record<string, string | boolean | undefined>>,
  operands: readonly string[],
) => Promise<void>;

interface Declared {
  readonly words: string;
  readonly does: string;
  readonly options?: readonly (readonly [flags: string, does: string, fallback?: string | boolean])[];
  /** Operands, as usage shows them. */
  readonly operands?: string;
  /** Whether it takes --url, --key, --data-dir and --json. */
  readonly remote?: true;
}

const FILE = [
  '-f, --file <path>',
  'a file of declared state, or a folder of such files',
  'sluice.yaml',
] as const;
const DATA_DIR = ['--data-dir <dir>', 'an embedded data folder; GATEWAY_DATA_DIR if absent'] as const;
const SOURCE = [
  '--source <name>',
  'the name that records are managed by; that of the file or folder if absent',
] as const;

export const COMMANDS: readonly Declared[] = [
  {
    words: 'start',
    does: 'Starts the gateway.',
    options: [
      ['--port <port>', 'the port; PORT if absent'],
      ['--host <address>', 'the address to listen on; HOST if absent'],
      ['--data-dir <dir>', 'the data folder; GATEWAY_DATA_DIR if absent'],
    ],
  },
  {
    words: 'doctor',
    does: 'Checks the stores, the data folder, the clock, the way out and the providers; exits with 1 when one is ill.',
    options: [DATA_DIR, ['--json', 'one JSON object']],
  },
  { words: 'keys list', does: 'Lists API keys.', remote: true },
  {
    words: 'keys create',
    does: 'Makes an API key and prints it.',
    remote: true,
    options: [
      ['--name <name>', 'what people call it'],
      ['--kind <kind>', 'organisation-service or workspace-service', 'workspace-service'],
      ['--scopes <a,b>', 'what it may do; model calls if absent'],
      ['--workspace <slug>', 'its workspace; the default one if absent'],
    ],
  },
  { words: 'keys revoke', does: 'Revokes an API key.', operands: '<id>', remote: true },
  { words: 'keys rotate', does: 'Gives a key a new secret and prints it.', operands: '<id>', remote: true },
  { words: 'keys recover', does: 'Makes a new admin key and a new workspace key.', remote: true },
  {
    words: 'keys rotate-encryption',
    does: 'Encrypts stored secrets with a new key.',
    options: [
      ['--new-master <source>', 'a file, or env for GATEWAY_NEW_ENCRYPTION_KEY'],
      ['--drop-old-masters', 'forgets earlier master keys'],
      DATA_DIR,
    ],
  },
  {
    words: 'providers list',
    does: 'Lists stored providers.',
    remote: true,
    options: [['--workspace <slug>', 'of one workspace']],
  },
  { words: 'budgets list', does: 'Lists budgets and what is used of them.', remote: true },
  {
    words: 'logs tail',
    does: 'Prints the newest calls, then each new one.',
    remote: true,
    options: [
      ['-n, --lines <n>', 'calls to begin with, at most 100', '20'],
      ['--no-follow', 'ends after them'],
    ],
  },
  {
    words: 'logs export',
    does: 'Writes the request log as JSON lines, and tells how far it is.',
    remote: true,
    options: [
      ['-o, --output <file>', 'where the lines go; stdout if absent'],
      ['--from <time>', 'from when on: ISO 8601 with offset'],
      ['--to <time>', 'until when'],
      ['--workspace <slug>', 'of one workspace'],
      ['--fields <a,b>', 'members of each line; all but the bodies if absent'],
      ['--limit <n>', 'the newest entries, at most 10000000'],
    ],
  },
  {
    words: 'mcp',
    does: 'Serves MCP on standard input and output for a local client: one server, or all of a workspace.',
    operands: '[server]',
    options: [
      ['--url <url>', 'the gateway; SLUICE_URL if absent'],
      ['--key <key>', 'a key with the scope mcp.invoke; SLUICE_KEY if absent'],
    ],
  },
  { words: 'plan', does: 'Tells what applying a file would change.', remote: true, options: [FILE, SOURCE] },
  {
    words: 'apply',
    does: 'Makes what is stored as a file says, in one unit of work.',
    remote: true,
    options: [FILE, SOURCE],
  },
  {
    words: 'diff',
    does: 'Tells every difference; exits with 1 when there is one, and with 2 for faults.',
    remote: true,
    options: [FILE, SOURCE],
  },
  { words: 'export', does: 'Prints all that is stored as a file of declared state.', remote: true },
  {
    words: 'migrate',
    does: 'Brings a store up to date, or copies an embedded one into MongoDB.',
    options: [['--from <dir>', 'the data folder to copy'], DATA_DIR],
  },
  {
    words: 'ledger re-rate',
    does: 'Works out costs again with the prices of now.',
    options: [
      ['--from <time>', 'from when on'],
      ['--to <time>', 'until when'],
      ['--organisation <id>', 'of one organisation'],
      ['--model <name>', 'of one model'],
      ['--dry-run', 'changes nothing'],
      DATA_DIR,
    ],
  },
  {
    words: 'ledger verify',
    does: 'Compares budgets and roll-ups with the entries.',
    options: [
      ['--organisation <id>', 'of one organisation'],
      ['--rebuild', 'corrects what differs'],
      DATA_DIR,
    ],
  },
  {
    words: 'organisations create',
    does: 'Makes an organisation and prints its admin key.',
    options: [
      ['--name <name>', 'what people call it'],
      ['--owner-email <email>', 'its owner'],
      ['--handle <handle>', 'made of the name if absent'],
      ['--owner-first-name <name>', ''],
      ['--owner-last-name <name>', ''],
    ],
  },
  {
    words: 'accept-loss',
    does: 'Lets a gateway start without a part of its data folder that is lost.',
    operands: '<part...>',
    options: [DATA_DIR],
  },
];

const GROUPS: Readonly<Record<string, string>> = {
  keys: 'API keys.',
  providers: 'Stored providers.',
  budgets: 'Budgets.',
  logs: 'The request log.',
  ledger: 'The books.',
  organisations: 'Organisations.',
};

/**
 * The parser.
 * @param runs by the words of a command
 * @param args the whole command line
 * @param output where help and refusals go; the streams of the process if absent
 */
export function program(
  runs: ReadonlyMap<string, Run>,
  args: readonly string[],
  output: OutputConfiguration = {},
): Command {
  const root = new Command('sluice')
    .configureOutput(output)
    .description('An AI gateway and control plane.')
    .addHelpText('after', '\nSettings are environment variables: see /docs/operating.');
  const groups = new Map<string, Command>();
  for (const declared of COMMANDS) {
    const [first = '', second] = declared.words.split(' ');
    const parent = second === undefined ? root : (groups.get(first) ?? root.command(first));
    if (second !== undefined && !groups.has(first)) {
      groups.set(first, parent.description(GROUPS[first] ?? ''));
    }
    addTo(parent, second ?? first, declared, runs.get(declared.words), args);
  }
  for (const one of [root, ...root.commands, ...root.commands.flatMap(({ commands }) => commands)])
    one
      .exitOverride()
      .version(version(), '-v, --version', 'prints the version')
      .helpOption('-h, --help', 'prints this');
  return root;
}

function addTo(
  parent: Command,
  name: string,
  declared: Declared,
  run: Run | undefined,
  args: readonly string[],
): void {
  const { does, options = [], operands, remote, words } = declared;
  const command = parent
    .command(operands === undefined ? name : `${name} ${operands}`)
    .description(does)
    .allowExcessArguments(false);
  for (const [flags, text, fallback] of options) command.option(flags, text, fallback);
  if (remote)
    command
      .option('--url <url>', 'a gateway; SLUICE_URL if absent')
      .option('--key <key>', 'an admin key for it; SLUICE_KEY if absent')
      .option('--data-dir <dir>', 'an embedded gateway by its data folder, running or stopped')
      .option('--json', 'JSON for machines');
  command.action(async (...given: unknown[]) => {
    const own = given.at(-1) as Command;
    await run?.(args.slice(words.split(' ').length), own.opts(), own.args.map(String));
  });
}
