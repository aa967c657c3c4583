// One port for everything: the first bytes of a connection tell HTTP/2 from HTTP/1; with TLS, ALPN does.
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { inItsTurn } from '../lib/incoming/pause-for-turn.ts';
import { settledWithin } from '../lib/settled-within.ts';
import { onBadBytes } from './bad-bytes.ts';
import {
  CONNECTION_TIMES,
  type Connection,
  type ConnectionLimits,
  Connections,
  type ConnectionTimes,
} from './connections.ts';
import { readFirstBytes } from './first-bytes.ts';
import { onHalfClosed } from './half-closed.ts';
import { Http2Floods } from './http2-floods.ts';
import { http2Upgrades } from './http2-upgrades.ts';
import { type Plain, PlainConnection, type PlainDeps } from './plain/connection.ts';
import { readInSlices } from './read-in-slices.ts';
import type { Upgrades } from './responses-socket.ts';

/** Answers one request of either version. */
export type Dispatch = (req: http.IncomingMessage, res: http.ServerResponse) => void;

export interface ListenerOptions {
  readonly dispatch: Dispatch;
  /** What answers requests to upgrade; absent: they are answered as if they had not asked. */
  readonly upgrades?: Upgrades;
  /** What answers plain requests; absent: node:http reads all. */
  readonly plain?: Plain;
  /** Told of answers that cannot be written. */
  readonly onTrouble?: (error: unknown) => void;
  readonly limits: ConnectionLimits;
  /** Shorter ones in tests. */
  readonly times?: ConnectionTimes;
  /** PEM texts; undefined: cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** The listening port. */
export interface Listener {
  listen(host: string, port: number): Promise<net.AddressInfo>;
  /** The request came with a valid key: its connection is a caller's. */
  prove(req: http.IncomingMessage): void;
  /** The request is one of too many without a valid key: its connection ends after its answer, unless it has shown a valid key. */
  hangUp(req: http.IncomingMessage): void;
  /** Takes no new connections and ends idle ones; resolves when all are closed, or after `graceMs`, when the rest are cut. */
  drain(graceMs: number): Promise<void>;
}

/** An idle connection is held for so long. */
const KEEP_ALIVE_MS = 65_000;
const MAX_HEADER_BYTES = 65_536;
/** Streams of one HTTP/2 connection: before a valid key was seen, and after. */
const STRANGERS_STREAMS = 100;
const MAX_CONCURRENT_STREAMS = 1000;
const STRANGERS_AT_ONCE = 8;
/**
 * Streams that a client may reset at once on one connection, and in each second after that: the engine spends up to 0.15 ms
 * on each before any code here sees it. Beyond it the session ends.
 */
const RESETS_AT_ONCE = 256;
const RESETS_PER_SECOND = 33;
/** Requests of connections with a valid key that begin in one turn: about 20 ms. */
const CALLERS_AT_ONCE = 64;
/** Bytes that are read of a body that is not wanted, and for how long, so that its answer is not lost with a reset. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 1000;
/** How long the calls over WebSocket that outlive the drain have to tell their clients so. */
const FAREWELL_MS = 1000;

export function createListener({
  dispatch,
  upgrades,
  plain,
  onTrouble = () => {},
  limits,
  times = CONNECTION_TIMES,
  tls: pem,
}: ListenerOptions): Listener {
  const connections = new Connections(limits, times);
  const floods = new Http2Floods(limits.isExempt ?? (() => false));
  const owners = new WeakMap<object, Connection>();
  const byPeer = new Map<string, Connection>();
  let draining = false;
  /** Whose session is being made. */
  let opening: Connection | undefined;

  // Of all connections together: hundreds of them may bring their first request in one turn, and one connection hundreds of
  // requests that it pipelines.
  const strangerMayBegin = perTurn(STRANGERS_AT_ONCE);
  const callerMayBegin = perTurn(CALLERS_AT_ONCE);
  /** So many requests begin in one turn of the event loop, and then one in each. */
  const mayBegin = (connection: Connection | undefined): boolean =>
    connection === undefined ||
    (connection.proven ? callerMayBegin() : connection.running <= STRANGERS_AT_ONCE && strangerMayBegin());
  /** The same of requests to upgrade. */
  const inTurns: Upgrades | undefined = upgrades && {
    wants: (req) => upgrades.wants(req),
    drain: () => upgrades.drain(),
    cut: () => upgrades.cut(),
    upgrade(req, socket, head) {
      const connection = owners.get(socket) ?? owners.get(req);
      if (mayBegin(connection)) upgrades.upgrade(req, socket, head);
      else inItsTurn(() => socket.destroyed || upgrades.upgrade(req, socket, head));
    },
  };
  const handle: Dispatch = (req, res) => {
    const { stream } = req as unknown as http2.Http2ServerRequest;
    const connection = owners.get(req.httpVersionMajor === 1 ? req.socket : (stream.session ?? stream));
    if (connection !== undefined) beginOn(connection, req, res, draining);
    if (connection !== undefined && !connection.proven) owners.set(req, connection);
    if (mayBegin(connection)) dispatch(req, res);
    else inItsTurn(() => stream?.destroyed || dispatch(req, res));
  };
  const http1 = http.createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: times.headMs,
      connectionsCheckingInterval: 5000,
      requestTimeout: 0,
      // Of a body in tiny pieces no more than this many wait in memory, and are read in one turn.
      highWaterMark: 16_384,
      // Requests that ask for an upgrade that is not offered are answered like others.
      shouldUpgradeCallback: (req) => upgrades?.wants(req) === true,
    },
    handle,
  );
  upgradesOf(http1, inTurns, (socket) => owners.get(socket));
  // Its types leave it out: a client that has ended its side is still answered.
  Object.assign(http1, { httpAllowHalfOpen: true });
  const h2 = http2.createServer(
    {
      settings: {
        maxConcurrentStreams: STRANGERS_STREAMS,
        maxHeaderListSize: MAX_HEADER_BYTES,
        enableConnectProtocol: upgrades !== undefined,
      },
      streamResetBurst: RESETS_AT_ONCE,
      streamResetRate: RESETS_PER_SECOND,
    },
    handle as unknown as (req: http2.Http2ServerRequest, res: http2.Http2ServerResponse) => void,
  );
  if (inTurns !== undefined)
    http2Upgrades(
      h2,
      inTurns,
      (session) => owners.get(session),
      (req, connection) => owners.set(req, connection),
    );
  // It never listens itself; this starts its watch over idle connections and slow headers.
  http1.emit('listening');

  const speakHttp1 = (connection: Connection, rest: Buffer | undefined): void => {
    const { stream } = connection;
    connection.plain = undefined;
    lingers(connection);
    stream.on('end', () => onHalfClosed(connection));
    http1.emit('connection', stream);
    if (rest !== undefined) readInSlices(stream, rest);
  };
  const plainDeps: PlainDeps | undefined = plain && {
    ...plain,
    prove: (connection) => connections.prove(connection),
    handOver: speakHttp1,
    keepAliveMs: KEEP_ALIVE_MS,
    draining: () => draining,
    onTrouble,
  };
  const speak = (connection: Connection, version: 1 | 2, rest?: Buffer): void => {
    const { stream } = connection;
    owners.set(stream, connection);
    if (version === 2) {
      floods.begin(connection, () => {
        opening = connection;
        h2.emit('connection', stream);
        opening = undefined;
      });
      return;
    }
    if (plainDeps === undefined || draining) {
      speakHttp1(connection, rest);
      return;
    }
    const own = new PlainConnection(connection, plainDeps);
    connection.plain = own;
    own.begin(rest);
  };
  const secure =
    pem &&
    tls.createServer({ ...pem, ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: times.handshakeMs });
  secure?.on('secureConnection', (stream) => {
    const connection = byPeer.get(peerOf(stream));
    if (connection === undefined) {
      stream.destroy();
      return;
    }
    connection.stream = stream;
    stream.setNoDelay(true);
    if (stream.alpnProtocol === 'h2') speak(connection, 2);
    else readFirstBytes(stream, MAX_HEADER_BYTES, (_, rest) => speak(connection, 1, rest));
  });
  secure?.on('tlsClientError', (_error, stream) => stream.destroy());
  const front = net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const connection = connections.add(socket);
    if (connection === undefined) return;
    if (secure === undefined) {
      readFirstBytes(socket, MAX_HEADER_BYTES, (version, rest) => speak(connection, version, rest));
      return;
    }
    const peer = peerOf(socket);
    byPeer.set(peer, connection);
    socket.once('close', () => byPeer.delete(peer));
    secure.emit('connection', socket);
  });
  h2.on('session', (session) => {
    if (opening === undefined) return;
    opening.session = session;
    owners.set(session, opening);
  });
  // Before a request is made of it.
  h2.prependListener('stream', ({ session }) => {
    const connection = session && owners.get(session);
    if (connection !== undefined) floods.countRequest(connection);
  });
  // A peer's broken bytes end its connection: the engine says so of those that reset too many streams, too.
  h2.on('sessionError', (_error, session) => {
    const connection = owners.get(session);
    if (connection !== undefined) floods.end(connection);
  });
  http1.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    onBadBytes(error, socket as net.Socket, owners.get(socket)?.answers ?? new Set());
  });

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        front.once('error', reject);
        front.listen(port, host, () => {
          front.off('error', reject);
          resolve(front.address() as net.AddressInfo);
        });
      }),
    prove(req) {
      const connection = owners.get(req);
      if (connection === undefined || connection.proven) return;
      connections.prove(connection);
      const { session } = connection;
      if (session && !session.closed && !session.destroyed)
        session.settings({ maxConcurrentStreams: MAX_CONCURRENT_STREAMS });
    },
    hangUp(req) {
      const connection = owners.get(req);
      if (connection === undefined || connection.proven) return;
      for (const res of connection.answers) res.shouldKeepAlive = false;
      connection.session?.close();
    },
    async drain(graceMs) {
      draining = true;
      upgrades?.drain();
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      const cut = setTimeout(() => {
        void settledWithin(upgrades === undefined ? [] : [upgrades.cut()], FAREWELL_MS).then(() => {
          for (const { socket } of connections.all) socket.destroy();
        });
      }, graceMs);
      for (const { session, asked, socket, answers, plain: own } of connections.all) {
        for (const res of answers) res.shouldKeepAlive = false;
        if (own !== undefined) own.drain();
        else if (session !== undefined) session.close();
        else if (!asked) socket.destroy();
      }
      const idle = setInterval(() => http1.closeIdleConnections(), 50);
      http1.closeIdleConnections();
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
      connections.close();
      floods.close();
      // Ends the watch that was started above.
      http1.close();
    },
  };
}

/** A connection that is upgraded has one request that runs until it ends. */
function upgradesOf(
  server: http.Server,
  upgrades: Upgrades | undefined,
  ownerOf: (socket: object) => Connection | undefined,
): void {
  if (upgrades === undefined) return;
  server.on('upgrade', (req: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    const connection = ownerOf(socket);
    if (connection === undefined || !upgrades.wants(req)) {
      socket.destroy();
      return;
    }
    connection.asked = true;
    connection.running++;
    socket.once('close', () => connection.running--);
    upgrades.upgrade(req, socket, head);
  });
}

/** Answers whether one more may begin in this turn of the event loop. */
function perTurn(most: number): () => boolean {
  let begun = 0;
  const over = (): void => {
    begun = 0;
  };
  return () => {
    if (begun === 0) setImmediate(over);
    return ++begun <= most;
  };
}

function peerOf({ remoteAddress, remotePort }: Pick<net.Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

function beginOn(
  connection: Connection,
  req: http.IncomingMessage,
  res: http.ServerResponse,
  draining: boolean,
): void {
  connection.asked = true;
  connection.running++;
  connection.lastAt = Date.now();
  const { answers } = connection;
  if (req.httpVersionMajor === 1) {
    answers.add(res);
    if (req.headers['transfer-encoding'] !== undefined) readInSlices(connection.stream);
    if (draining) res.shouldKeepAlive = false;
  }
  res.on('close', () => {
    connection.running--;
    answers.delete(res);
    if (req.httpVersionMajor === 1 && res.writableFinished && !req.complete && !req.destroyed) leaves(req);
  });
}

/** A body of which a part was read, and whose request was answered: the rest is read for a moment, for the next request. */
function leaves(req: http.IncomingMessage): void {
  const { socket } = req;
  let bytes = 0;
  const end = (): void => socket.destroySoon();
  const timer = setTimeout(end, LINGER_MS);
  const done = (): void => clearTimeout(timer);
  req.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > LINGER_BYTES) end();
  });
  req.once('end', done).once('close', done).resume();
}

/** An answer to a request whose body is not read would be lost with a reset: the body is read for a moment, and left. */
function lingers({ stream, answers }: Connection): void {
  const destroySoon = stream.destroySoon.bind(stream);
  stream.destroySoon = () => {
    if (![...answers].some(({ req }) => !req.complete)) {
      destroySoon();
      return;
    }
    const most = stream.bytesRead + LINGER_BYTES;
    const timer = setTimeout(() => stream.destroy(), LINGER_MS);
    stream.on('data', () => {
      if (stream.bytesRead > most) stream.destroy();
    });
    stream.once('end', () => stream.destroy()).once('close', () => clearTimeout(timer));
    stream.end();
    stream.resume();
  };
}
