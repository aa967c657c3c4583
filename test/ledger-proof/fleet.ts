// Gateways as processes of their own, each on its port and its data folder: killed, and started again at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../bench/child.ts';
import { PROGRAM } from '../support/program.ts';

const START_MS = 180_000;
const STOP_MS = 30_000;
/** How soon a supervisor starts again what has ended. */
const AGAIN_MS = 20;
/** The engine's flags of npm start. */
const ENGINE = ['--min-semi-space-size=16', '--max-semi-space-size=32'];

/** One gateway. */
export interface Gateway {
  readonly origin: string;
  readonly dataDir: string;
  /** What it printed, all its lives together. */
  readonly output: () => string;
  /** Resolves when it listens. */
  up(): Promise<void>;
  /** Not one that was killed at its start already: it comes up before it is killed again. */
  mayBeKilled(): boolean;
  /** Kills it (-9); it is started again at once. Answers whether it was still starting. */
  kill(): boolean;
  /** Ends it as an operator does; resolves when it is gone. */
  stop(): Promise<void>;
  remove(): void;
}

/** @throws Error with what it printed when it does not come up */
export async function startGateway(env: Readonly<Record<string, string>>): Promise<Gateway> {
  const port = await freePort();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-proof-'));
  let child: ChildProcess | undefined;
  let output = '';
  let said = '';
  let ended = false;
  let killedAtStart = false;

  /** As a supervisor does it: one that ends, killed or because a store is too slow at its start, is started again. */
  const launch = (): void => {
    said = '';
    const own = spawn(process.execPath, [...ENGINE, PROGRAM, 'start'], {
      env: { PATH: process.env.PATH, PORT: String(port), GATEWAY_DATA_DIR: dataDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [own.stdout, own.stderr])
      stream?.on('data', (chunk: Buffer) => {
        const text = chunk.toString('utf8');
        if (said.length < 4000) said += text;
        if (output.length < 1_000_000) output += text;
      });
    own.once('exit', () => {
      if (!ended && child === own) setTimeout(() => !ended && launch(), AGAIN_MS);
    });
    child = own;
  };
  const isUp = (): boolean => said.includes('listens on');
  const up = async (): Promise<void> => {
    const deadline = performance.now() + START_MS;
    while (!isUp()) {
      if (performance.now() > deadline) throw new Error(`a gateway did not start:\n${said}`);
      await sleep(20);
    }
    killedAtStart = false;
  };
  const end = async (): Promise<void> => {
    ended = true;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const dying = child;
    const exited = once(dying, 'exit');
    dying.kill('SIGTERM');
    const late = setTimeout(() => dying.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(late);
  };

  launch();
  try {
    await up();
  } catch (error) {
    await end();
    throw error;
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    dataDir,
    output: () => output,
    up,
    stop: end,
    mayBeKilled: () => isUp() || !killedAtStart,
    kill() {
      killedAtStart = !isUp();
      said = '';
      child?.kill('SIGKILL');
      return killedAtStart;
    },
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}
