// The project's own tools as child processes: node_modules/.bin comes first in the
// PATH, so that nothing depends on what the machine has installed.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** How a tool ended and what it wrote. */
export interface Ran {
  readonly code: number;
  readonly stdout: Buffer;
  /** Both streams, as they came. */
  readonly output: string;
}

/** Runs a tool in the project's folder. A tool that cannot be started counts as failed with code 127. */
export function run(command: string, args: readonly string[]): Promise<Ran> {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter);
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...process.env, PATH: path, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const all: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    out.push(chunk);
    all.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => all.push(chunk));
  return new Promise((resolve) => {
    const end = (code: number, more = ''): void =>
      resolve({ code, stdout: Buffer.concat(out), output: Buffer.concat(all).toString('utf8') + more });
    child.on('error', (error) => end(127, error.message));
    child.on('close', (code) => end(code ?? 1));
  });
}
