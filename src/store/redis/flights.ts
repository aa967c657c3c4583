// Copies of files of calls in flight in Redis: a list of texts for each file, and a key that lapses with its process.
import type { FlightMirror, LeftFlights } from '../flight-mirror.ts';
import { type Client, connect } from './connections.ts';

export interface RedisFlightsOptions {
  readonly url: string;
  /** This process. */
  readonly owner: string;
  /** A process that has not reported for so long counts as gone, in milliseconds. */
  readonly lapseMs: number;
  /** Files of one process that are copied, the newest ones. */
  readonly mostFiles?: number;
}

const DEADLINE_MS = 2000;
/** UTF-16 units on their way at the most. */
const MOST_PENDING = 32 * 1024 * 1024;
const OWNERS = 'sluice:{flights}:owners';
const MOST_FILES = 8;
/** The lease of taking copies over, in milliseconds; after it another process may. */
const TAKE_MS = 120_000;

/** All keys of a process are on one node of a cluster. */
function keysOf(owner: string) {
  const prefix = `sluice:{flight:${owner}}`;
  return {
    alive: `${prefix}:alive`,
    taken: `${prefix}:taken`,
    files: `${prefix}:files`,
    file: (number: number | string) => `${prefix}:${number}`,
  };
}

export function redisFlights(options: RedisFlightsOptions): FlightMirror {
  const { url, owner, lapseMs, mostFiles = MOST_FILES } = options;
  const client = connect(url, 'sluice-flights', DEADLINE_MS);
  const keys = keysOf(owner);
  const copied: number[] = [];
  let pending = 0;
  let gap = true;
  let closed = false;

  const lost = (): void => {
    gap = true;
  };
  const send = (command: string, args: (string | number)[]): Promise<unknown> => client.call(command, args);

  function remove(file: number): void {
    const at = copied.indexOf(file);
    if (at === -1) return;
    copied.splice(at, 1);
    send('DEL', [keys.file(file)]).catch(lost);
    send('SREM', [keys.files, file]).catch(lost);
  }

  return {
    append(file, lines) {
      if (pending + lines.length > MOST_PENDING) {
        lost();
        return;
      }
      if (copied.at(-1) !== file) {
        copied.push(file);
        send('SADD', [keys.files, file]).catch(lost);
        // What the log store does not take for long is on the process's own disk alone.
        if (copied.length > mostFiles) remove(copied[0] as number);
      }
      pending += lines.length;
      send('RPUSH', [keys.file(file), lines])
        .catch(lost)
        .finally(() => {
          pending -= lines.length;
        });
    },
    remove,
    async beat() {
      const whole = !gap;
      gap = false;
      try {
        await send('SADD', [OWNERS, owner]);
        const before = await send('SET', [keys.alive, '1', 'PX', lapseMs, 'GET']);
        return whole && before !== null;
      } catch (error) {
        gap = true;
        throw error;
      }
    },
    async takeLapsed() {
      const owners = (await send('SMEMBERS', [OWNERS])) as string[];
      const left: LeftFlights[] = [];
      for (const other of owners) {
        if (other === owner) continue;
        const { alive, taken } = keysOf(other);
        if (Number(await send('EXISTS', [alive])) > 0) continue;
        if ((await send('SET', [taken, owner, 'PX', TAKE_MS, 'NX'])) === null) continue;
        left.push(leftBy(client, other));
      }
      return left;
    },
    async close(empty) {
      if (closed) return;
      closed = true;
      try {
        if (empty) await leftBy(client, owner).remove();
      } catch {
        // Other processes find it gone, with nothing to take over.
      }
      client.disconnect();
    },
  };
}

function leftBy(client: Client, owner: string): LeftFlights {
  const keys = keysOf(owner);
  const numbers = async (): Promise<number[]> =>
    ((await client.call('SMEMBERS', [keys.files])) as string[]).map(Number).sort((a, b) => a - b);
  return {
    owner,
    async files() {
      const files: { number: number; lines: string }[] = [];
      for (const number of await numbers()) {
        const texts = (await client.call('LRANGE', [keys.file(number), '0', '-1'])) as string[];
        files.push({ number, lines: texts.join('') });
      }
      return files;
    },
    async remove() {
      for (const number of await numbers()) await client.call('DEL', [keys.file(number)]);
      await client.call('DEL', [keys.files, keys.alive, keys.taken]);
      await client.call('SREM', [OWNERS, owner]);
    },
  };
}
