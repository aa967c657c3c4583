// What the engine compiled of the build's files, with the functions that a start ran: Node.js' own cache is written when a
// file is compiled, before any of its functions is, and each start would compile some thousand of them again.
import { readFileSync } from 'node:fs';
import Module from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { constants, Script } from 'node:vm';
import { BUILD_LENGTH, type Code, type Kept, readCode, release, writeCode } from './kept-code.ts';

type Compile = (this: NodeJS.Module, content: string, filename: string, format?: string) => unknown;
type Run = (
  exports: object,
  require: NodeJS.Require,
  module: NodeJS.Module,
  file: string,
  dir: string,
) => void;

/** In the parameters of Node.js' own wrapper. */
const BEFORE = '(function (exports, require, module, __filename, __dirname) {';
const AFTER = '\n})';

const SOURCE = 'node:module_source';

const loaded = new Map<string, Script>();
let kept: Kept = new Map();
/** The file that it was read from; empty once it is given back. */
let bytes = Buffer.alloc(0);
let place: string | undefined;
let isWhole = true;

/**
 * Compiles the build's files from now on with what was kept for them. Does nothing where the sources run as they are.
 * @param caches a folder that only this user may write: code is read from it
 */
export function useCodeCache(caches: string): void {
  // The build has no folders: this file is where the others are.
  const folder = dirname(fileURLToPath(import.meta.url));
  const build = buildIn(folder);
  if (build === undefined) return;
  place = join(caches, `${build}${versionOf()}.code`);
  kept = readKept(place);
  withoutLoaderWarning();
  const prototype = Module.prototype as unknown as { _compile: Compile };
  const own = prototype._compile;
  prototype._compile = function compile(content, filename, format) {
    if (dirname(filename) !== folder) return own.call(this, content, filename, format);
    const name = basename(filename);
    const cachedData = kept.get(name);
    kept.delete(name);
    const script = scriptOf(content, filename, cachedData);
    if (cachedData === undefined || script.cachedDataRejected === true) isWhole = false;
    loaded.set(name, script);
    const run = script.runInThisContext() as Run;
    const require = Object.assign((id: string) => this.require(id), { main: process.mainModule });
    run.call(
      this.exports,
      this.exports,
      require as unknown as NodeJS.Require,
      this,
      filename,
      dirname(filename),
    );
    forgetSource(this);
    return undefined;
  };
}

/** Node.js keeps the text of a module that `import()` loaded once more, to compile what is compiled here. */
function forgetSource(module: object): void {
  const symbol = Object.getOwnPropertySymbols(module).find(({ description }) => description === SOURCE);
  if (symbol !== undefined) Reflect.set(module, symbol, undefined);
}

function scriptOf(content: string, filename: string, cachedData: Buffer | undefined): Script {
  return new Script(BEFORE + content + AFTER, {
    filename,
    ...(cachedData && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/**
 * Node.js calls the loader of `import()` in scripts experimental, and says so on stderr at the first `import()`, which may be
 * that of a call.
 */
function withoutLoaderWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (typeof warning === 'string' && warning.startsWith('vm.USE_MAIN_CONTEXT_DEFAULT_LOADER')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
}

/** Keeps what is compiled now, where a file was not kept yet. Called once, when the start is over: in turns. */
export async function keepCode(): Promise<void> {
  const scripts = [...loaded];
  loaded.clear();
  // What was not loaded so far is compiled when it is: its code would stay in memory.
  const rest = kept;
  kept = new Map();
  // The engine refuses code that it made with other options than those of the start.
  if (place?.endsWith(`${versionOf()}.code`) && !isWhole) {
    const code = new Map<string, () => Code>([...rest].map(([name, data]) => [name, () => data]));
    for (const [name, script] of scripts) code.set(name, () => script.createCachedData());
    await writeCode(place, code);
  }
  // Some megabytes, which would stay until the next large collection: a gateway at rest has none.
  release(bytes);
}

/** Which build it is; undefined: the sources run. */
function buildIn(folder: string): string | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined;
  try {
    const { of } = JSON.parse(readFileSync(join(folder, 'build.json'), 'utf8')) as { readonly of: string };
    return `${of.slice(0, BUILD_LENGTH)}-`;
  } catch {
    return undefined;
  }
}

/** Code of another Node.js, of other options of the engine or of another processor is refused by the engine. */
function versionOf(): string {
  return `${process.version}-${process.arch}-${cachedDataVersionTag().toString(16)}`;
}

/** Empty where there is nothing, or something that was not written whole. */
function readKept(file: string): Kept {
  try {
    bytes = readFileSync(file);
    return readCode(bytes);
  } catch {
    return new Map();
  }
}
