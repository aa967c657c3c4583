// A worker as a process of its own, so that its garbage is collected there, with the lowest priority: the threads that
// help collecting are one group for all threads of a process, and those of readers would take the core from the thread
// that serves calls.
import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { idleProcess } from '../../lib/background-thread.ts';
import { giveMemoryBackWhenIdle } from '../../lib/idle-memory.ts';
import type { WorkerEnd } from './protocol.ts';

/** One thread, and little memory for young objects: results are short-lived. */
const FLAGS = ['--single-threaded', '--max-semi-space-size=8'];
/** Resident bytes of a reader that are given back when it is idle; a fresh one has about 60 MB. */
const MUCH_MEMORY = 128 * 2 ** 20;
const IDLE_SECONDS = 2;

/** What a `Worker` is to its client, of a process: 'message', 'error' and 'exit'. */
export class ReaderProcess extends EventEmitter {
  readonly #child: ChildProcess;

  /** @param entry a module that calls `serve` @param setup what it is opened with */
  constructor(entry: URL, setup: object) {
    super();
    const child = fork(fileURLToPath(entry), [], {
      execArgv: FLAGS,
      serialization: 'advanced',
      env: ownEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    if (child.pid !== undefined) idleProcess(child.pid);
    child.on('message', (message) => this.emit('message', message));
    child.on('error', (error) => this.emit('error', error));
    child.on('exit', (code) => this.emit('exit', code ?? 1));
    this.postMessage(setup);
  }

  postMessage(message: object): void {
    // A process that has ended is noticed by its exit event.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Resolves when it has ended. */
  terminate(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }
}

/**
 * Nothing of the gateway's environment: only the folder of compiled modules, where this process has one, which saves
 * more than half of the CPU of a start.
 */
function ownEnvironment(): NodeJS.ProcessEnv {
  // It names the engine's own folder in the one that was given.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** The other side: begins with the setup, and ends with the process that started it. */
export function onlyProcess(begin: (setup: unknown, end: WorkerEnd) => void): void {
  if (process.send === undefined) throw new Error('a worker entry, not a program');
  // A signal to all processes of a terminal or a service is for the gateway's main process, which ends this one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit(0));
  giveMemoryBackWhenIdle(MUCH_MEMORY, IDLE_SECONDS);
  const post = (message: unknown): void => void process.send?.(message, undefined, undefined, () => {});
  process.once('message', (setup) => {
    begin(setup, {
      post,
      onMessage: (take) => void process.on('message', take),
      next: () => undefined,
    });
  });
}
