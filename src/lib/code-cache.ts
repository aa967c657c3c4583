// What the engine compiled of the build's files, with the functions that a start ran: Node.js' own cache is written when a
// file is compiled, before any of its functions is, and each start would compile some thousand of them again.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag, deserialize, serialize } from 'node:v8';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';

type Compile = (this: NodeJS.Module, content: string, filename: string, format?: string) => unknown;
type Run = (
  exports: object,
  require: NodeJS.Require,
  module: NodeJS.Module,
  file: string,
  dir: string,
) => void;

/** Code by the names of files. */
type Kept = Map<string, Buffer>;

/** In the parameters of Node.js' own wrapper. */
const BEFORE = '(function (exports, require, module, __filename, __dirname) {';
const AFTER = '\n})';

/** Of a build's fingerprint: two builds are told apart by it. */
const BUILD_LENGTH = 16;

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
    return undefined;
  };
}

function scriptOf(content: string, filename: string, cachedData: Buffer | undefined): Script {
  const { emitWarning } = process;
  // Node.js calls the loader of `import()` in scripts experimental, and says so on stderr.
  process.emitWarning = () => {};
  try {
    return new Script(BEFORE + content + AFTER, {
      filename,
      ...(cachedData && { cachedData }),
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Keeps what is compiled now, where a file was not kept yet. Called once, when the start is over: in turns. */
export async function keepCode(): Promise<void> {
  const scripts = [...loaded];
  loaded.clear();
  // What was not loaded so far is compiled when it is: its code would stay in memory.
  const rest = kept;
  kept = new Map();
  if (place === undefined || isWhole) {
    // Some megabytes, which would stay until the next large collection: a gateway at rest has none.
    if (bytes.length > 0 && bytes.length === bytes.buffer.byteLength) bytes.buffer.transfer(0);
    return;
  }
  const code = new Map(rest);
  for (const [name, script] of scripts) {
    code.set(name, script.createCachedData());
    await new Promise(setImmediate);
  }
  writeKept(place, code);
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
    const body = bytes.subarray(4);
    if (bytes.readUInt32LE(0) !== crc32(body)) return new Map();
    return new Map(Object.entries(deserialize(body) as Record<string, Buffer>));
  } catch {
    return new Map();
  }
}

function writeKept(file: string, code: Kept): void {
  const body = serialize(Object.fromEntries(code));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(crc32(body));
  const scratch = `${file}.${process.pid}`;
  try {
    writeFileSync(scratch, Buffer.concat([head, body]), { mode: 0o600 });
    renameSync(scratch, file);
    const [folder, own] = [dirname(file), basename(file)];
    // Of earlier builds.
    for (const name of readdirSync(folder))
      if (name.endsWith('.code') && name.slice(0, BUILD_LENGTH) !== own.slice(0, BUILD_LENGTH))
        rmSync(join(folder, name), { force: true });
  } catch {
    // The next start tries again.
  }
}
