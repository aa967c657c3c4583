// Gateways as processes of their own, each on its port and its data folder: killed, and started again at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../bench/child.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const START_MS = 180_000;
const STOP_MS = 30_000;

/** One gateway. */
export interface Gateway {
  readonly origin: string;
  readonly dataDir: string;
  readonly pid: () => number | undefined;
  /** What it printed, all its lives together. */
  readonly output: () => string;
  /** Kills it and starts it again; resolves when it listens. */
  killAndRestart(): Promise<void>;
  /** Ends it as an operator does; resolves when it is gone. */
  stop(): Promise<void>;
  remove(): void;
}

export async function startGateway(env: Readonly<Record<string, string>>): Promise<Gateway> {
  const port = await freePort();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-proof-'));
  let child: ChildProcess | undefined;
  let output = '';

  /** As a supervisor does it: one that ends at its start, because a store is too slow, is started again. */
  const start = async (): Promise<void> => {
    const deadline = performance.now() + START_MS;
    let said = '';
    let own = child;
    while (!said.includes('listens on')) {
      if (performance.now() > deadline) {
        own?.kill('SIGKILL');
        throw new Error(`a gateway did not start:\n${said}`);
      }
      if (own === undefined || own.exitCode !== null) {
        said = '';
        own = launch((text) => {
          if (said.length < 4000) said += text;
        });
      }
      await sleep(20);
    }
  };
  const launch = (onText: (text: string) => void): ChildProcess => {
    const own = spawn(process.execPath, [MAIN, 'start'], {
      env: { PATH: process.env.PATH, PORT: String(port), GATEWAY_DATA_DIR: dataDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [own.stdout, own.stderr])
      stream?.on('data', (chunk: Buffer) => {
        const text = chunk.toString('utf8');
        onText(text);
        if (output.length < 1_000_000) output += text;
      });
    child = own;
    return own;
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const dying = child;
    child = undefined;
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
    const exited = once(dying, 'exit');
    dying.kill(signal);
    const late = setTimeout(() => dying.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(late);
  };

  await start();
  return {
    ...{ origin: `http://127.0.0.1:${port}`, dataDir, pid: () => child?.pid, output: () => output },
    async killAndRestart() {
      await end('SIGKILL');
      await start();
    },
    stop: () => end('SIGTERM'),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}
