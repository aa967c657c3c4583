// The commands that MCP servers may be: those that the operator's settings name, and no others.
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/** One program. It may hold secrets in its variables. */
export interface StdioCommand {
  /** A path, or a name on the PATH. No shell reads it. */
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it runs; undefined: where the gateway does. */
  readonly cwd: string | undefined;
}

export type StdioCommands = ReadonlyMap<string, StdioCommand>;

const SCHEME = 'stdio:';
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MEMBERS = ['command', 'args', 'env', 'cwd'];
/** Of the gateway's own environment a program sees these; the gateway's secrets are among the others. */
const PASSED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot', 'USERPROFILE'];

type Environment = Readonly<Record<string, string | undefined>>;

/** The name in an address such as `stdio:files`; undefined for any other address. */
export function commandNameOf(url: string): string | undefined {
  const name = url.startsWith(SCHEME) ? url.slice(SCHEME.length) : undefined;
  return name !== undefined && NAME.test(name) ? name : undefined;
}

/**
 * Reads GATEWAY_MCP_STDIO: commands by their names, as JSON or as the path of a file of JSON.
 * @param environment the gateway's own, of which programs see a few names
 * @throws Error in words that hold no variable's value
 */
export function readStdioCommands(text: string, environment: Environment): StdioCommands {
  const passed = Object.fromEntries(
    PASSED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const given = objectOf(parsed(text.trimStart().startsWith('{') ? text : contentOf(text)), 'the setting');
  return new Map(
    Object.entries(given).map(([name, value]) => {
      if (!NAME.test(name))
        throw new Error(`${JSON.stringify(name.slice(0, 64))} is no name: letters, digits, _ and -`);
      const own = commandOf(name, objectOf(value, name));
      return [name, { ...own, env: { ...passed, ...own.env } }];
    }),
  );
}

function commandOf(name: string, given: Readonly<Record<string, unknown>>): StdioCommand {
  const other = Object.keys(given).find((member) => !MEMBERS.includes(member));
  if (other !== undefined)
    throw new Error(`${name}.${other.slice(0, 64)} is no member: there are ${MEMBERS.join(', ')}`);
  const { command, args = [], env = {}, cwd } = given;
  if (!isText(command) || command === '') throw new Error(`${name}.command must be a path or a name`);
  if (!Array.isArray(args) || !args.every(isText)) throw new Error(`${name}.args must be a list of texts`);
  const variables = objectOf(env, `${name}.env`);
  for (const [variable, value] of Object.entries(variables))
    if (!VARIABLE.test(variable) || !isText(value))
      throw new Error(`${name}.env must have names of variables, and texts`);
  if (cwd !== undefined && !(isText(cwd) && isAbsolute(cwd)))
    throw new Error(`${name}.cwd must be an absolute path`);
  return { command, args: args as string[], env: variables as Record<string, string>, cwd };
}

function contentOf(path: string): string {
  if (!existsSync(path)) throw new Error(`there is no file ${path.slice(0, 200)}, and it is no JSON object`);
  return readFileSync(path, 'utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words quote the text, which may hold secrets.
    throw new Error('must be a JSON object of commands by name');
  }
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new Error(`${what} must be an object`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}
