// The connections of the port: how many there may be, and how long each may do nothing.
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { AddressRates, isLoopback, networkOf } from '../lib/address-rates.ts';
import { LruCache } from '../lib/lru-cache.ts';

export interface ConnectionLimits {
  /** Connections at once, and of one address. */
  readonly total: number;
  readonly perAddress: number;
  /** New ones of one address; undefined: 100, and any number from the machine itself. */
  readonly perSecond?: number | undefined;
  /** Addresses without that bound: the proxies in front. */
  readonly isExempt?: (address: string) => boolean;
}

/** How long a connection may be in a state, in milliseconds. */
export interface ConnectionTimes {
  /** TLS, until its handshake is complete. */
  readonly handshakeMs: number;
  /** Until its first request is whole. */
  readonly headMs: number;
  /** HTTP/2 that never carried a valid key, without a request. */
  readonly strangerIdleMs: number;
  /** HTTP/2 of a caller, without a request and without a ping. */
  readonly callerIdleMs: number;
  /** A client takes nothing of its answer. */
  readonly stallMs: number;
  /** It was ended, and its client does not end it. */
  readonly endedMs: number;
  /** Between two looks at all connections. */
  readonly sweepMs: number;
}

export const CONNECTION_TIMES: ConnectionTimes = {
  handshakeMs: 10_000,
  headMs: 30_000,
  strangerIdleMs: 65_000,
  callerIdleMs: 1_800_000,
  stallMs: 300_000,
  endedMs: 5000,
  sweepMs: 1000,
};

/** Connections without a valid key that one address may hold for longer than a moment. */
const STRANGERS = 256;
const MOMENT_MS = 1000;
const PER_SECOND = 100;
/** Of the bound on new connections, those of an address that has shown a valid key use this share. */
const CALLERS_SHARE = 0.1;
/** Addresses that are remembered for a valid key. */
const MOST_ADDRESSES = 10_000;

/** One connection. */
export interface Connection {
  readonly socket: Socket;
  readonly address: string;
  readonly openedAt: number;
  /** What HTTP is spoken over: the socket, or TLS on it. */
  stream: Socket;
  session: ServerHttp2Session | undefined;
  /** A request has come. */
  asked: boolean;
  /** A request with a valid key has come. */
  proven: boolean;
  /** Reads and answers its plain requests; undefined: it is another protocol's, or node:http's. */
  plain: { drain(): void } | undefined;
  /** Answers of node:http over HTTP/1 that are not complete. */
  readonly answers: Set<ServerResponse>;
  running: number;
  /** Requests of HTTP/2 that began in this turn of the event loop, until a valid key is seen. */
  begun: number;
  /** Bytes that were read when it was last looked at for a flood. */
  looked: number;
  /** When something happened last, in Unix milliseconds: a request of an unauthenticated client, any bytes of a caller. */
  lastAt: number;
  read: number;
  written: number;
  writtenAt: number;
  endedAt: number;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #times: ConnectionTimes;
  readonly #all = new Set<Connection>();
  readonly #byAddress = new Map<string, Set<Connection>>();
  readonly #timer: NodeJS.Timeout;
  readonly #rates: AddressRates;
  readonly #callers = new LruCache<true>(MOST_ADDRESSES);

  constructor(limits: ConnectionLimits, times: ConnectionTimes) {
    this.#limits = limits;
    this.#times = times;
    this.#rates = new AddressRates(limits.perSecond ?? PER_SECOND);
    this.#timer = setInterval(() => this.#sweep(Date.now()), times.sweepMs).unref();
  }

  get all(): Iterable<Connection> {
    return this.#all;
  }

  /**
   * Takes a new connection. Where there are too many, the oldest one without a valid key and without a request is ended;
   * where there is none, or where too many come from its address, the new connection is ended, and the result is undefined.
   */
  add(socket: Socket): Connection | undefined {
    const now = Date.now();
    const address = socket.remoteAddress ?? '';
    if (!this.#mayOpen(address)) {
      socket.destroy();
      return undefined;
    }
    const own = this.#byAddress.get(address) ?? new Set();
    const crowd =
      own.size >= this.#limits.perAddress
        ? own
        : this.#all.size >= this.#limits.total
          ? this.#all
          : undefined;
    if (crowd !== undefined && !makesRoom(crowd)) {
      socket.destroy();
      return undefined;
    }
    const connection: Connection = {
      socket,
      address,
      stream: socket,
      openedAt: now,
      session: undefined,
      asked: false,
      proven: false,
      plain: undefined,
      answers: new Set(),
      running: 0,
      begun: 0,
      looked: 0,
      lastAt: now,
      read: 0,
      written: 0,
      writtenAt: now,
      endedAt: 0,
    };
    this.#all.add(connection);
    own.add(connection);
    this.#byAddress.set(address, own);
    socket.once('close', () => {
      this.#all.delete(connection);
      own.delete(connection);
      if (own.size === 0 && this.#byAddress.get(address) === own) this.#byAddress.delete(address);
    });
    return connection;
  }

  /** A valid key was shown on it: its address may open connections faster. */
  prove(connection: Connection): void {
    connection.proven = true;
    this.#callers.set(networkOf(connection.address), true);
  }

  #mayOpen(address: string): boolean {
    const { perSecond, isExempt } = this.#limits;
    if ((perSecond === undefined && isLoopback(address)) || isExempt?.(address)) return true;
    const isCaller = this.#callers.get(networkOf(address)) !== undefined;
    return this.#rates.take(address, isCaller ? CALLERS_SHARE : 1) === 0;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sweep(now: number): void {
    for (const connection of this.#all) look(connection, now, this.#times);
    for (const own of this.#byAddress.values()) {
      if (own.size <= STRANGERS) continue;
      let over = -STRANGERS;
      for (const connection of own) if (isIdleStranger(connection, now)) over++;
      for (const connection of own) {
        if (over <= 0) break;
        if (!isIdleStranger(connection, now)) continue;
        connection.socket.destroy();
        over--;
      }
    }
  }
}

function isIdleStranger({ proven, running, openedAt }: Connection, now: number): boolean {
  return !proven && running === 0 && now - openedAt > MOMENT_MS;
}

/** Ends the oldest connection without a valid key and without a request; sets are in the order of arrival. */
function makesRoom(crowd: ReadonlySet<Connection>): boolean {
  const now = Date.now();
  for (const connection of crowd) {
    if (!isIdleStranger(connection, now)) continue;
    connection.socket.destroy();
    return true;
  }
  return false;
}

/** Ends a connection that did nothing for too long in its state. */
function look(connection: Connection, now: number, times: ConnectionTimes): void {
  const { socket, stream, session } = connection;
  if (stream.writableEnded) {
    connection.endedAt ||= now;
    if (now - connection.endedAt > times.endedMs && stream.writableLength === 0) socket.destroy();
  }
  const { bytesRead, bytesWritten } = socket;
  if (bytesWritten !== connection.written || stream.writableLength === 0) connection.writtenAt = now;
  connection.written = bytesWritten;
  if (connection.running > 0 || (connection.proven && bytesRead !== connection.read)) connection.lastAt = now;
  connection.read = bytesRead;
  if (now - connection.writtenAt > times.stallMs) socket.destroy();
  else if (!connection.asked && now - connection.openedAt > times.headMs) socket.destroy();
  else if (session !== undefined && connection.running === 0) {
    const idleMs = now - connection.lastAt;
    if (idleMs > (connection.proven ? times.callerIdleMs : times.strangerIdleMs)) {
      if (session.closed) socket.destroy();
      else session.close();
    }
  }
}
