// What strangers do with HTTP/2 that costs the engine more than it costs them: it ends their connections, and their address
// gets new ones slowly. Node's own bounds count after a piece of bytes was read, and 64 KiB hold 2,000 requests.

import { networkOf } from '../lib/address-rates.ts';
import { LruCache } from '../lib/lru-cache.ts';
import type { Connection } from './connections.ts';
import { requestsWaiting } from './http2-frames.ts';

/** For so long after a flood its address gets HTTP/2 slowly, and no connection waits longer. */
const SLOW_MS = 10_000;
/** Between two of its connections that are read. */
const SLOW_EVERY_MS = 1000;
/**
 * Bytes that HTTP/2 may bring between two looks at it before a valid key was seen: their bodies wait in windows of 64 KiB, so
 * that more of them are frames that ask for nothing.
 */
const STRANGERS_BYTES = 256 * 1024;
const FLOOD_LOOK_MS = 20;
/** Requests that HTTP/2 may bring in one turn of the event loop before a valid key was seen. */
const STRANGERS_REQUESTS = 100;
/** Addresses that are remembered for a flood. */
const MOST_ADDRESSES = 10_000;

/** The connections of one port that speak HTTP/2. */
export class Http2Floods {
  readonly #isExempt: (address: string) => boolean;
  /** Networks that flooded, in Unix milliseconds: until when they are slow, and when one more connection is read. */
  readonly #slow = new LruCache<{ until: number; next: number }>(MOST_ADDRESSES);
  /** HTTP/2 without a valid key. */
  readonly #strangers = new Set<Connection>();
  #watch: NodeJS.Timeout | undefined;

  /** @param isExempt addresses that stand for many clients: the proxies in front */
  constructor(isExempt: (address: string) => boolean) {
    this.#isExempt = isExempt;
  }

  /** Begins with HTTP/2: at once, or when it is the turn of a connection whose address has flooded. */
  begin(connection: Connection, speak: () => void): void {
    const { socket, stream, address } = connection;
    const now = Date.now();
    const slow = this.#slow.get(networkOf(address));
    const start = (): void => {
      if (requestsWaiting(stream) > STRANGERS_REQUESTS) {
        this.end(connection);
        return;
      }
      this.#watchStranger(connection);
      speak();
    };
    if (slow === undefined || slow.until <= now) {
      start();
      return;
    }
    const at = Math.max(now, slow.next);
    if (at - now > SLOW_MS) {
      socket.destroy();
      return;
    }
    slow.next = at + SLOW_EVERY_MS;
    stream.pause();
    const timer = setTimeout(start, at - now);
    socket.once('close', () => clearTimeout(timer));
  }

  /** One more request of HTTP/2. */
  countRequest(connection: Connection): void {
    if (connection.proven) return;
    if (connection.begun === 0)
      setImmediate(() => {
        connection.begun = 0;
      });
    if (++connection.begun > STRANGERS_REQUESTS) this.end(connection);
  }

  /** A stranger sent what only costs: the connections of its address end that no valid key came on, and new ones are read slowly. */
  end(connection: Connection): void {
    if (connection.proven) return;
    cut(connection);
    const { address } = connection;
    if (this.#isExempt(address)) return;
    const now = Date.now();
    const { next = now + SLOW_EVERY_MS } = this.#slow.get(networkOf(address)) ?? {};
    this.#slow.set(networkOf(address), { until: now + SLOW_MS, next });
    for (const other of this.#strangers) if (other.address === address) cut(other);
  }

  #watchStranger(connection: Connection): void {
    this.#strangers.add(connection);
    connection.socket.once('close', () => this.#strangers.delete(connection));
    this.#watch ??= setInterval(() => this.#look(), FLOOD_LOOK_MS).unref();
  }

  #look(): void {
    for (const connection of this.#strangers) {
      const { proven, socket, looked } = connection;
      connection.looked = socket.bytesRead;
      if (proven) this.#strangers.delete(connection);
      else if (socket.bytesRead - looked > STRANGERS_BYTES) this.end(connection);
    }
    if (this.#strangers.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  close(): void {
    clearInterval(this.#watch);
  }
}

/** A session that is ended reads no further frames of what it was given. */
function cut({ session, socket }: Connection): void {
  session?.destroy();
  socket.destroy();
}
