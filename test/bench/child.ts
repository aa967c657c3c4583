// Processes that the bench starts, and ends by their own ids.
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process of ours that runs until it is stopped. */
export interface Child {
  readonly pid: number;
  /** What it wrote to stdout and stderr so far. */
  output(): string;
  /** SIGTERM, and SIGKILL when it stays. Resolves when it is gone. */
  stop(): Promise<void>;
}

const START_MS = 60_000;
const STOP_MS = 20_000;

/** Starts a server. Resolves when the port takes connections. @throws Error with its output when it ends before. */
export async function startServer(
  command: string,
  args: readonly string[],
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    if (output.length < 100_000) output += chunk.toString('utf8');
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const gone = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      output += error.message;
      resolve();
    });
    child.on('exit', () => resolve());
  });
  const over = new AbortController();
  void gone.then(() => over.abort());
  const since = performance.now();
  while (!(await takesConnections(port))) {
    if (over.signal.aborted || performance.now() - since > START_MS) {
      child.kill('SIGKILL');
      throw new Error(`${command} ${args.join(' ')} did not start:\n${output}`);
    }
    await sleep(50);
  }
  return { pid: child.pid ?? 0, output: () => output, stop: () => stop(child, gone) };
}

async function stop(child: ChildProcess, gone: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await gone;
  clearTimeout(timer);
}

/** Runs a command to its end. @throws Error with its output when it fails. */
export async function run(command: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString('utf8');
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args[0] ?? ''} failed:\n${out}${err}`);
  return out;
}

/** A port of the loopback that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a command is on the PATH. */
export function isInstalled(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Processor seconds that a process used so far; 0 where there is no /proc. */
export function cpuSeconds(pid: number): number {
  try {
    // proc(5): utime and stime are fields 14 and 15, in ticks of 1/100 s; the name before them may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** Resident memory of a process in MB (10^6 bytes); undefined where there is no /proc. */
export function residentMb(pid: number): number | undefined {
  try {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return line ? (Number(line[1]) * 1024) / 1e6 : undefined;
  } catch {
    return undefined;
  }
}

/** Resident memory of a process and all that it started, in MB (10^6 bytes); 0 where there is no /proc. */
export function processTreeMb(pid: number): number {
  return processTree(pid).reduce((sum, one) => sum + (residentMb(one) ?? 0), 0);
}

function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended.
    }
  }
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  return tree;
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
