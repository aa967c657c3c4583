// An agent from npm, installed once into the project's cache.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = path.join(import.meta.dirname, '..', '..', '.cache', 'agents');
const INSTALL_MS = 300_000;

/** The command of a package's version; undefined: it cannot be installed here. @param command its name in node_modules/.bin */
export async function npmAgent(name: string, version: string, command: string): Promise<string | undefined> {
  const folder = path.join(CACHE, `${name.replaceAll('/', '-')}-${version}`);
  const bin = path.join(folder, 'node_modules', '.bin', command);
  if (existsSync(bin)) return bin;
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${version}`];
  await run('npm', args, { timeout: INSTALL_MS }).catch(() => undefined);
  return existsSync(bin) ? bin : undefined;
}
