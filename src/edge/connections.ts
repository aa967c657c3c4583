// The connections of the port: how many there may be, and how long each may do nothing.
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Connections at once, and of one address. */
  readonly total: number;
  readonly perAddress: number;
}

/** A connection until its first request is whole. */
const HEAD_MS = 30_000;
/** A connection that never carried a valid key, without a request. */
const STRANGER_IDLE_MS = 65_000;
/** An HTTP/2 connection of a caller, without a request and without a ping. */
const CALLER_IDLE_MS = 1_800_000;
/** A client that takes nothing of its answer. */
const STALL_MS = 300_000;
/** A connection that was ended and whose client does not end it. */
const ENDED_MS = 5000;
/** Connections without a valid key that one address may hold for longer than a moment. */
const STRANGERS = 256;
const MOMENT_MS = 1000;
const SWEEP_MS = 1000;

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
  /** Answers over HTTP/1 that are not complete. */
  readonly answers: Set<ServerResponse>;
  running: number;
  /** When something happened last, in Unix milliseconds: a request for a stranger, any bytes for a caller. */
  lastAt: number;
  read: number;
  written: number;
  writtenAt: number;
  endedAt: number;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #all = new Set<Connection>();
  readonly #byAddress = new Map<string, Set<Connection>>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#timer = setInterval(() => this.#sweep(Date.now()), SWEEP_MS).unref();
  }

  get all(): Iterable<Connection> {
    return this.#all;
  }

  /**
   * Takes a new connection. Where there are too many, the oldest one of a stranger that has no request makes room; without
   * such a one the new connection is ended, and the answer is undefined.
   */
  add(socket: Socket): Connection | undefined {
    const now = Date.now();
    const address = socket.remoteAddress ?? '';
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
      answers: new Set(),
      running: 0,
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

  close(): void {
    clearInterval(this.#timer);
  }

  #sweep(now: number): void {
    for (const connection of this.#all) look(connection, now);
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

/** Ends the oldest connection that is a stranger's and has no request; sets are in the order of arrival. */
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
function look(connection: Connection, now: number): void {
  const { socket, stream, session } = connection;
  if (stream.writableEnded) {
    connection.endedAt ||= now;
    if (now - connection.endedAt > ENDED_MS && stream.writableLength === 0) socket.destroy();
  }
  const { bytesRead, bytesWritten } = socket;
  if (bytesWritten !== connection.written || stream.writableLength === 0) connection.writtenAt = now;
  connection.written = bytesWritten;
  if (connection.running > 0 || (connection.proven && bytesRead !== connection.read)) connection.lastAt = now;
  connection.read = bytesRead;
  if (now - connection.writtenAt > STALL_MS) socket.destroy();
  else if (!connection.asked && now - connection.openedAt > HEAD_MS) socket.destroy();
  else if (session !== undefined && connection.running === 0) {
    const idleMs = now - connection.lastAt;
    if (idleMs > (connection.proven ? CALLER_IDLE_MS : STRANGER_IDLE_MS)) {
      if (session.closed) socket.destroy();
      else session.close();
    }
  }
}
