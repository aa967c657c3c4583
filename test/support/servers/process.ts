// One server process on a port and in a folder of its own, with the faults that tests do to it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a kind of server starts, and how one tells that it answers. */
export interface ServerKind {
  readonly name: string;
  command(port: number, folder: string): readonly [program: string, ...args: string[]];
  /** Rejects while it does not answer yet. */
  probe(port: number): Promise<void>;
}

/** A server under a test's control. */
export interface ServerProcess {
  readonly port: number;
  /** Freezes it: connections stay open and nothing answers (SIGSTOP). */
  pause(): void;
  /** Thaws it (SIGCONT). */
  resume(): void;
  /** Ends it at once, as a power cut would for the process (SIGKILL). */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder; resolves when it answers. Kills it first when it runs. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. */
  stop(): Promise<void>;
}

const START_MS = 20_000;

/** The launcher's folder, in which it finds what a test left behind; none when ava runs alone. */
function runFolder(): string {
  return process.env.SLUICE_TEST_RUN_DIR ?? tmpdir();
}

/** Starts a server and resolves when it answers. */
export async function startServer(kind: ServerKind): Promise<ServerProcess> {
  const folder = mkdtempSync(join(runFolder(), `sluice-${kind.name}-`));
  const port = await freePort();
  const data = join(folder, 'data');
  const pidFile = join(folder, 'pid');
  mkdirSync(data);
  let child: ChildProcess | undefined;

  const kill = async (): Promise<void> => {
    if (child === undefined) return;
    const dying = child;
    child = undefined;
    if (dying.exitCode !== null || dying.signalCode !== null) return;
    // The wait for its end keeps the process alive, as nothing else of it does.
    dying.ref();
    const exited = once(dying, 'exit');
    dying.kill('SIGKILL');
    await exited;
    rmSync(pidFile, { force: true });
  };
  const start = async (): Promise<void> => {
    await kill();
    const [program, ...args] = kind.command(port, data);
    const output = openSync(join(folder, 'output'), 'a');
    child = spawn(program, args, { cwd: folder, stdio: ['ignore', output, output] });
    closeSync(output);
    // Whoever forgets it shall not keep the test's process alive.
    child.unref();
    let broken: Error | undefined;
    child.once('error', (error) => {
      broken = error;
    });
    if (child.pid !== undefined) writeFileSync(pidFile, String(child.pid));
    const until = performance.now() + START_MS;
    for (;;) {
      const wrong = await kind.probe(port).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (wrong === undefined) return;
      if (broken !== undefined || child.exitCode !== null || performance.now() > until) {
        const said = readFileSync(join(folder, 'output'), 'utf8').slice(-2000);
        await kill();
        throw new Error(`${kind.name} did not start: ${said}`, { cause: broken ?? wrong });
      }
      await sleep(30);
    }
  };

  await start();
  return {
    port,
    pause: () => child && freeze(child),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    restart: start,
    stop: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** A loopback port that nobody has. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Returns when all its threads stand still, where the system tells: on a busy machine one may answer until then. */
function freeze(child: ChildProcess): void {
  child.kill('SIGSTOP');
  const tasks = `/proc/${child.pid}/task`;
  const runs = (task: string): boolean => {
    try {
      const stat = readFileSync(`${tasks}/${task}/stat`, 'utf8');
      return !'TZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
    } catch {
      return false;
    }
  };
  while (existsSync(tasks) && readdirSync(tasks).some(runs)) Atomics.wait(NEVER, 0, 0, 1);
}

/** It is never changed: a wait for it lasts as long as its bound. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));
