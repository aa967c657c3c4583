// A gateway as users start it, in a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { PROGRAM } from '../support/program.ts';

export interface Child {
  readonly process: ChildProcess;
  readonly port: number;
  readonly origin: string;
  /** Everything printed so far, both streams. */
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

export function tempDir(t: ExecutionContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-child-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Starts the command with nothing of this process's environment but the path. */
export function launch(
  t: ExecutionContext,
  env: Readonly<Record<string, string>>,
): { process: ChildProcess; output: () => string; exited: Promise<number | null> } {
  const child = spawn(process.execPath, [PROGRAM, 'start'], {
    env: { PATH: process.env.PATH, PORT: '0', GATEWAY_EGRESS_ALLOW: '127.0.0.1/32', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
  }
  const exited = once(child, 'close').then(([code]) => code as number | null);
  t.teardown(() => void child.kill('SIGKILL'));
  return { process: child, output: () => text, exited };
}

/** Starts the command and waits until it listens. */
export async function startChild(t: ExecutionContext, env: Readonly<Record<string, string>>): Promise<Child> {
  const child = launch(t, env);
  const deadline = Date.now() + 180_000;
  for (;;) {
    const match = /listens on (https?):\/\/127\.0\.0\.1:(\d+)/.exec(child.output());
    if (match) {
      const port = Number(match[2]);
      return { ...child, port, origin: `${match[1]}://127.0.0.1:${port}` };
    }
    if (child.process.exitCode !== null || Date.now() > deadline)
      throw new Error(`no start: ${child.output()}`);
    await pause(20);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until the condition holds. @throws Error when it does not within the time. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('what was waited for did not happen');
    await pause(10);
  }
}
