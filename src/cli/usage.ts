// What the command line can do, as it says itself.
import { readFileSync } from 'node:fs';

/** Each command with its options; a line that begins with a blank goes on from the one before. */
const COMMANDS = [
  'sluice start',
  'sluice doctor [--data-dir DIR] [--json]',
  'sluice accept-loss sluice.db|logs|state.db|exports|flights|encryption.key... [--data-dir DIR]',
  'sluice keys create --name NAME [--kind organisation-service|workspace-service] [--scopes a,b]',
  'sluice keys rotate-encryption [--new-master FILE|env] [--drop-old-masters]',
  `sluice organisations create --name NAME --owner-email EMAIL [--handle HANDLE]
                              [--owner-first-name NAME] [--owner-last-name NAME]`,
  'sluice migrate [--from DATA_DIR]',
  'sluice ledger re-rate --from TIME [--to TIME] [--organisation ID] [--model NAME] [--dry-run]',
  'sluice ledger verify [--organisation ID] [--rebuild]',
] as const;

/** All commands. */
export const USAGE = usageOf(COMMANDS);

/** The version of this program, as package.json says it. */
export function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { readonly version: string }).version;
}

/** The help or version that a command line asks for, whatever else it says; undefined: it asks for neither. */
export function answerTo(args: readonly string[]): string | undefined {
  const end = args.indexOf('--');
  const asked = end < 0 ? args : args.slice(0, end);
  if (args[0] === 'version' || asked.includes('--version')) return `${version()}\n`;
  if (args[0] !== 'help' && !asked.includes('--help') && !asked.includes('-h')) return undefined;
  const words = asked.filter((word, at) => !word.startsWith('-') && !(at === 0 && word === 'help'));
  for (let length = Math.min(2, words.length); length > 0; length--) {
    const command = `sluice ${words.slice(0, length).join(' ')}`;
    const found = COMMANDS.filter((line) => line === command || line.startsWith(`${command} `));
    if (found.length > 0) return usageOf(found);
  }
  return `${USAGE}\nSettings are environment variables: src/docs/operating.md lists them, and a gateway shows it at /docs/operating.\n`;
}

function usageOf(lines: readonly string[]): string {
  return `usage:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}
