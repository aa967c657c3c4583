// The version of this program.
import { readFileSync } from 'node:fs';

/** As package.json says it. */
export function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { readonly version: string }).version;
}

const ASKING = ['--version', '-v', '-V'];

/** The version, for a command line that asks for it wherever it stands. */
export function versionAsked(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const asked = end < 0 ? args : args.slice(0, end);
  return args[0] === 'version' || ASKING.some((option) => asked.includes(option));
}
