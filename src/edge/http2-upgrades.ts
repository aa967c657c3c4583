// WebSockets over HTTP/2 (RFC 8441): a CONNECT with `:protocol: websocket` opens one on a stream. What answers upgrades speaks
// HTTP/1.1, so the stream is given its form: the head of the answer becomes the head of the stream's.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  constants,
  type Http2Server,
  type Http2ServerRequest,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { Duplex } from 'node:stream';
import type { Connection } from './connections.ts';
import type { Upgrades } from './responses-socket.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
/** What HTTP/2 has no place for (RFC 9113, section 8.2.2), and what is of the handshake of HTTP/1.1. */
const OF_HTTP1 = new Set([
  'connection',
  'upgrade',
  'keep-alive',
  'transfer-encoding',
  'sec-websocket-accept',
]);

/** @param ownerOf the connection of a session @param keep notes whose connection a request came on */
export function http2Upgrades(
  server: Http2Server,
  upgrades: Upgrades,
  ownerOf: (session: object) => Connection | undefined,
  keep: (req: IncomingMessage, connection: Connection) => void,
): void {
  server.on('connect', (given: unknown) => {
    const { stream, headers } = given as Http2ServerRequest;
    const connection = stream.session && ownerOf(stream.session);
    const req = asUpgrade(given as Http2ServerRequest);
    const refusal = refusalOf(headers, upgrades.wants(req));
    if (connection === undefined || refusal !== undefined) {
      stream.respond({ ':status': refusal ?? 503 }, { endStream: true });
      leave(stream);
      return;
    }
    connection.asked = true;
    connection.running++;
    stream.once('close', () => connection.running--);
    if (!connection.proven) keep(req, connection);
    upgrades.upgrade(req, new StreamSocket(stream), Buffer.alloc(0));
  });
}

/** The status for what opens no WebSocket here; undefined: it does. */
function refusalOf({ ':protocol': protocol }: IncomingHttpHeaders, isWanted: boolean): number | undefined {
  if (protocol === undefined) return 405;
  if (protocol !== 'websocket') return 501;
  return isWanted ? undefined : 404;
}

/** The request as one of HTTP/1.1 says it. */
function asUpgrade({ headers, socket }: Http2ServerRequest): IncomingMessage {
  const plain = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  return {
    method: 'GET',
    url: headers[':path'] ?? '/',
    httpVersionMajor: 2,
    socket,
    headers: {
      ...Object.fromEntries(plain),
      host: headers[':authority'],
      connection: 'Upgrade',
      upgrade: 'websocket',
      // HTTP/2 proves in another way that its end is no cache: `ws` asks for it.
      'sec-websocket-key': randomBytes(16).toString('base64'),
    },
  } as unknown as IncomingMessage;
}

/** Ends a stream once its answer is written: a client that was refused may leave its own side open for ever. */
function leave(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_NO_ERROR);
}

/** A stream whose first written bytes are the head of an answer of HTTP/1.1. */
class StreamSocket extends Duplex {
  readonly #stream: ServerHttp2Stream;
  #head: Buffer | undefined = Buffer.alloc(0);
  #isRefused = true;

  constructor(stream: ServerHttp2Stream) {
    super();
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => {
      if (!this.push(piece)) stream.pause();
    });
    stream.once('end', () => this.push(null));
    stream.once('error', () => this.destroy());
    stream.once('close', () => this.destroy());
    stream.pause();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(piece: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const bytes = this.#head === undefined ? piece : this.#answer(piece);
    if (bytes.length === 0 || this.#stream.destroyed) done();
    else this.#stream.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#stream.end(done);
    if (this.#isRefused) leave(this.#stream);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#stream.destroyed) this.#stream.close();
    done(error);
  }

  /** Answers once the head is whole. @returns the bytes after it */
  #answer(piece: Buffer): Buffer {
    const all = Buffer.concat([this.#head ?? piece, piece]);
    const end = all.indexOf(HEAD_END);
    if (end === -1) {
      this.#head = all;
      return Buffer.alloc(0);
    }
    this.#head = undefined;
    const [first = '', ...lines] = all.toString('latin1', 0, end).split('\r\n');
    const status = Number(first.split(' ')[1]);
    this.#isRefused = status !== 101;
    const headers: Record<string, string | number> = { ':status': status === 101 ? 200 : status };
    for (const line of lines) {
      const name = line.slice(0, line.indexOf(':')).toLowerCase();
      if (!OF_HTTP1.has(name)) headers[name] = line.slice(name.length + 1).trim();
    }
    this.#stream.respond(headers);
    return all.subarray(end + HEAD_END.length);
  }
}
