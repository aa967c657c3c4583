// How a Redis server is found and started.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { ServerKind } from './process.ts';

const PROBE_MS = 1000;

/** The address by which tests reach a server on this port. */
export function redisUrl(port: number): string {
  return `redis://127.0.0.1:${port}`;
}

/** The kind that this machine has; undefined when it has none. */
export function redisKind(): ServerKind | undefined {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return {
    name: 'redis',
    // Every write is on disk before it is answered: what kill -9 tests rely on.
    command: (port, folder) => [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    probe,
  };
}

/** Asks PING and waits for PONG; while it loads its file it answers an error. */
async function probe(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    const signal = AbortSignal.timeout(PROBE_MS);
    await once(socket, 'connect', { signal });
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    if (!answer.toString().startsWith('+PONG')) throw new Error(`it answered ${answer.toString()}`);
  } finally {
    socket.destroy();
  }
}
