// One port for everything: the first bytes of a connection tell HTTP/2 from HTTP/1;
// with TLS, ALPN does.
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';

/** Answers one request of either version. */
export type Dispatch = (req: http.IncomingMessage, res: http.ServerResponse) => void;

export interface ListenerOptions {
  readonly dispatch: Dispatch;
  /** PEM texts; undefined: cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** The listening port. */
export interface Listener {
  listen(host: string, port: number): Promise<net.AddressInfo>;
  /** Takes no new connections and ends idle ones; resolves when all are closed, or after `graceMs`, when the rest are cut. */
  drain(graceMs: number): Promise<void>;
}

const PREFACE = Buffer.from('PRI');
/** How long a connection may stay silent before its first byte. */
const FIRST_BYTE_MS = 30_000;
/** An idle connection is held for so long. */
const KEEP_ALIVE_MS = 65_000;
const MAX_HEADER_BYTES = 65_536;
/** Answers to what is no request yet: nobody knows its path. */
const BAD = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
const TOO_LONG = tooLong(`the address and the headers have more than ${MAX_HEADER_BYTES} bytes`);
const MAX_CONCURRENT_STREAMS = 1000;

export function createListener({ dispatch, tls }: ListenerOptions): Listener {
  const http1Options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 60_000,
    requestTimeout: 0,
    // Of a body in tiny pieces no more than this many wait in memory, and are read in one turn.
    highWaterMark: 16_384,
  };
  const http2Options = {
    settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES },
  };
  const answering = new Set<http.ServerResponse>();
  let draining = false;
  const handle: Dispatch = (req, res) => {
    if (req.httpVersionMajor === 1) {
      answering.add(res);
      res.once('close', () => answering.delete(res));
      if (draining) res.shouldKeepAlive = false;
    }
    dispatch(req, res);
  };
  const http1 = http.createServer(http1Options, handle);
  const handleH2 = handle as unknown as (
    req: http2.Http2ServerRequest,
    res: http2.Http2ServerResponse,
  ) => void;
  const h2 = tls
    ? http2.createSecureServer({ ...http1Options, ...http2Options, ...tls, allowHTTP1: true }, handleH2)
    : http2.createServer(http2Options, handleH2);
  const silent = new Set<net.Socket>();
  // It never listens itself; this starts its watch over idle connections and slow headers.
  http1.emit('listening');
  const front = tls
    ? (h2 as http2.Http2SecureServer)
    : net.createServer({ noDelay: true }, (socket) => route(socket, silent, http1, h2 as http2.Http2Server));

  const sockets = new Set<net.Socket>();
  const sessions = new Set<http2.ServerHttp2Session>();
  front.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  h2.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  // A peer's broken bytes are its own affair; the connection is closed and nothing else happens.
  h2.on('sessionError', () => {});
  http1.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) socket.end(error.code === 'HPE_HEADER_OVERFLOW' ? TOO_LONG : BAD);
    else socket.destroy();
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
    async drain(graceMs) {
      draining = true;
      for (const res of answering) res.shouldKeepAlive = false;
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      const cut = setTimeout(() => sockets.forEach((socket) => void socket.destroy()), graceMs);
      for (const session of sessions) session.close();
      for (const socket of silent) socket.destroy();
      const idle = setInterval(() => endIdle(http1, h2), 50);
      endIdle(http1, h2);
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
      // Ends the watch that was started above.
      http1.close();
    },
  };
}

function tooLong(message: string): string {
  const error = { message, type: 'invalid_request_error', param: null, code: 'headers_too_large' };
  const body = JSON.stringify({ status: 'failure', message, error });
  return (
    'HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n' +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

function endIdle(http1: http.Server, h2: http2.Http2Server | http2.Http2SecureServer): void {
  http1.closeIdleConnections();
  // With TLS the HTTP/1 connections belong to the secure server.
  if ('closeIdleConnections' in h2) (h2 as unknown as http.Server).closeIdleConnections();
}

/** Looks at the first bytes, puts them back, and hands the connection on. */
function route(socket: net.Socket, silent: Set<net.Socket>, http1: http.Server, h2: http2.Http2Server): void {
  const giveUp = setTimeout(() => socket.destroy(), FIRST_BYTE_MS);
  let seen: Buffer = Buffer.alloc(0);
  silent.add(socket);
  const forget = (): void => {
    clearTimeout(giveUp);
    silent.delete(socket);
  };
  const close = (): void => void socket.destroy();
  const look = (): void => {
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return;
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const prefix = seen.subarray(0, PREFACE.length);
    const maybe = prefix.equals(PREFACE.subarray(0, prefix.length));
    if (maybe && seen.length < PREFACE.length) return;
    forget();
    socket.off('readable', look).off('error', close).off('end', close).off('close', forget);
    // Put back once, when it is decided: bytes put back while this listens would be read again at once.
    socket.unshift(seen);
    (maybe ? h2 : http1).emit('connection', socket);
  };
  socket.on('readable', look).once('error', close).once('end', close).once('close', forget);
}
