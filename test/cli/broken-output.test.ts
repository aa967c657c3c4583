// The command whose output is not read to its end, or cannot be written: no crash, and a gateway serves on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as listener } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { controlPath } from '../../src/lib/control-socket.ts';
import { eventually } from '../support/eventually.ts';
import { PROGRAM } from '../support/program.ts';

interface Ended {
  readonly code: number | null;
  readonly err: string;
}

/** Runs the command; its output is closed at its begin, or goes to a device that is always full. */
async function sluice(args: readonly string[], to: 'closed' | 'full'): Promise<Ended> {
  const full = to === 'full' ? openSync('/dev/full', 'w') : undefined;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', full ?? 'pipe', 'pipe'],
    timeout: 120_000,
  });
  if (full !== undefined) closeSync(full);
  child.stdout?.destroy();
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString('utf8');
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, err };
}

test('a reader that has enough is no failure', async (t) => {
  for (const args of [['--help'], ['start', '--help'], ['keys', 'list', '--help'], ['--version']])
    t.deepEqual(await sluice(args, 'closed'), { code: 0, err: '' }, args.join(' '));
});

test('a full disk is told in a line', async (t) => {
  const err = 'the output cannot be written (ENOSPC)\n';
  for (const args of [['--help'], ['keys', '--help']])
    t.deepEqual(await sluice(args, 'full'), { code: 1, err }, args.join(' '));
});

test('a tail ends when nobody reads it', async (t) => {
  let asked = 0;
  const server = createServer((_, res) => {
    // A new entry with each question.
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ data: [{ id: String(++asked), status_code: 200 }] }));
  });
  server.listen(0, '127.0.0.1');
  t.teardown(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const args = ['logs', 'tail', '--url', `http://127.0.0.1:${port}`, '--key', 'a-key-of-sixteen-letters'];
  t.deepEqual(await sluice(args, 'closed'), { code: 0, err: '' });
});

/** A port that was free just now. */
async function freePort(): Promise<number> {
  const server = listener().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function serves(t: ExecutionContext, to: 'closed' | 'full'): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-output-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const full = to === 'full' ? openSync('/dev/full', 'w') : undefined;
  const child = spawn(process.execPath, [PROGRAM, 'start', '--port', String(port), '--data-dir', dataDir], {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'trace' },
    stdio: ['ignore', full ?? 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  if (full !== undefined) closeSync(full);
  child.stdout?.destroy();
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString('utf8');
  });
  const exited = once(child, 'close');
  const answers = async (): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.status === 200;
  t.true(await eventually('it listens', answers));
  // Last of a start, after the port. That the system calls SIGTERM caught says nothing: the engine catches it from its begin.
  await eventually('its start is over', () => existsSync(controlPath(dataDir)));
  for (let i = 0; i < 3; i++) t.true(await answers(), 'it serves on');
  child.kill('SIGTERM');
  t.deepEqual(await exited, [0, null], err);
  t.notRegex(err, /\bat \S+:\d+/, 'no trace');
}

test('a gateway serves on without a reader of its log', (t) => serves(t, 'closed'));
test('a gateway serves on when the disk of its log is full', (t) => serves(t, 'full'));
