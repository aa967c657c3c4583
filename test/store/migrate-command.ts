// `sluice migrate` as users run it, in a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PROGRAM } from '../support/program.ts';

export interface Command {
  readonly process: ChildProcess;
  /** Both streams so far. */
  readonly output: () => string;
  /** Null: it was killed. */
  readonly exited: Promise<number | null>;
}

/** Starts it with nothing of this process's environment but the path. */
export function launchMigrate(env: Readonly<Record<string, string>>, ...args: string[]): Command {
  const child = spawn(process.execPath, [PROGRAM, 'migrate', ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
  }
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, output: () => text, exited };
}

/** Runs it to its end. */
export async function migrate(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = launchMigrate(env, ...args);
  const code = await command.exited;
  return { code, output: command.output() };
}
