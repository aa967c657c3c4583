// Where the engine keeps what it compiled.
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = new URL('../../package.json', import.meta.url);

/**
 * A folder of this user: in the program's own where it may be written, else in the user's cache. Undefined: there is
 * none, and the start takes longer. Never one that other users may write: code is read from it.
 */
export function compileCacheFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const own = fileURLToPath(new URL('.cache', PACKAGE));
  const users = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice');
  return [own, users].map((folder) => join(folder, 'compiled')).find(usable);
}

function usable(folder: string): boolean {
  try {
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
