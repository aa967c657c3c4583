// Responses over WebSocket: GET /v1/responses with an upgrade. The key and its scope are checked before the upgrade;
// each `response.create` is a call of its own, and its events are frames. One call runs at a time.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Message } from '@bufbuild/protobuf';
import { WebSocket, WebSocketServer } from 'ws';
import {
  CreateResponseRequestSchema,
  ResponsesService,
} from '../../gen/gateway/inference/v2/responses_pb.ts';
import { Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { accessCheck } from '../access/authorize.ts';
import { Call } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { jsonText, rawJsonOf } from '../lib/raw-json.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { MOST_MESSAGE, WEBSOCKET_BOUNDS } from '../lib/websocket-bounds.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from '../rest/error-body.ts';
import { isTooHeavy, LIGHT_BYTES } from '../rest/json-weight.ts';
import { annotationsOf } from '../rest/routes.ts';
import type { RestDeps } from './rest-deps.ts';
import { SocketReading } from './socket-reading.ts';

/** A connection without a message for so long is closed, in milliseconds. */
const IDLE_MS = 300_000;
/** Messages of one connection that wait for the one that runs; one more ends the connection. */
const MOST_WAITING = 8;
/** Bytes that a client may leave unread before its events wait. */
const MOST_UNREAD = 1024 * 1024;
/** How long it may leave them unread, in milliseconds. */
const STALL_MS = 300_000;
/** "Service restart" (IANA, WebSocket Close Code Number Registry): the client may connect again. */
const RESTARTS = 1012;
const PATH = /^\/v[12]\/responses\/?(?:\?|$)/;
const METHOD = ResponsesService.method.streamResponse;

/** What the surface is built of. */
export type ResponsesSocketDeps = Pick<
  RestDeps,
  'transport' | 'names' | 'bodyLimit' | 'budget' | 'identify' | 'prove' | 'full' | 'refuse'
>;

/** The WebSockets of the port. */
export interface Upgrades {
  /** Whether a request to upgrade is answered here; all others are answered as if they had not asked. */
  wants(req: IncomingMessage): boolean;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ends connections with 1001: idle ones at once, others after their call. */
  drain(): void;
  /** The drain is over: calls that still run end now, and their clients are told. Resolves when no connection is left. */
  cut(): Promise<void>;
}

export function responsesSockets(deps: ResponsesSocketDeps): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    // The library takes a message apart byte by byte, in one turn of the event loop.
    maxPayload: Math.min(deps.bodyLimit, MOST_MESSAGE),
    ...WEBSOCKET_BOUNDS,
  });
  const sessions = new Set<Session>();
  let draining = false;
  return {
    wants: ({ url = '', headers, method }) =>
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && PATH.test(url),
    upgrade(req, socket, head) {
      socket.on('error', () => socket.destroy());
      allowed(deps, req).then(
        (keyId) => {
          if (draining) return refuse(socket, fail('overloaded', 'the gateway is about to stop'));
          deps.prove(req);
          server.handleUpgrade(req, socket, head, (ws) => {
            const reading = new SocketReading(ws, socket, deps.budget.open(keyId));
            const session = new Session(deps, req, ws, reading, () => draining);
            sessions.add(session);
            ws.once('close', () => sessions.delete(session));
          });
          return undefined;
        },
        (thrown: unknown) => refuse(socket, toGatewayError(thrown)),
      );
    },
    drain() {
      draining = true;
      for (const session of sessions) session.leaveWhenIdle();
    },
    async cut() {
      await Promise.all([...sessions].map((session) => session.cut()));
    },
  };
}

/** @returns the key's id @throws GatewayError unauthenticated, forbidden, overloaded, rate_limited */
async function allowed(deps: ResponsesSocketDeps, req: IncomingMessage): Promise<string | undefined> {
  if (deps.full(false)) throw fail('overloaded', 'too many calls are in progress', { retryAfterMs: 1000 });
  const call = callOf(deps, req);
  if (!(await deps.identify(call)))
    throw deps.refuse(call, req) ?? fail('unauthenticated', 'an API key is needed');
  const principal = call.identity?.principal;
  if (principal !== undefined) accessCheck(annotationsOf(METHOD).access)(principal);
  return principal?.keyId;
}

function refuse(socket: Duplex, error: GatewayError): void {
  const body = JSON.stringify(errorBody(error, { plane: Plane.DATA, form: Form.RESPONSES }));
  const head = [
    `HTTP/1.1 ${error.status} ${error.reason}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function callOf({ names }: ResponsesSocketDeps, { headers, socket }: IncomingMessage): Call {
  return new Call(METHOD, {
    protocol: 'rest',
    headers: new GatewayHeaders(names, headers),
    httpMethod: 'POST',
    path: '/responses',
    remote: socket.remoteAddress ?? '',
    connection: socket,
  });
}

/** One connection. */
class Session {
  readonly #deps: ResponsesSocketDeps;
  readonly #req: IncomingMessage;
  readonly #ws: WebSocket;
  readonly #reading: SocketReading;
  readonly #draining: () => boolean;
  readonly #waiting: Buffer[] = [];
  /** What callers go on from without its being kept: the connection's last response. */
  readonly #earlier = new Map<string, object>();
  #running: Call | undefined;
  #isCut = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(
    deps: ResponsesSocketDeps,
    req: IncomingMessage,
    ws: WebSocket,
    reading: SocketReading,
    draining: () => boolean,
  ) {
    this.#deps = deps;
    this.#req = req;
    this.#ws = ws;
    this.#reading = reading;
    this.#draining = draining;
    ws.on('message', (data) => this.#take(data as Buffer));
    ws.on('error', () => ws.terminate());
    ws.once('close', () => {
      clearTimeout(this.#idle);
      this.#waiting.length = 0;
      this.#running?.abort(fail('client_closed', 'the client has left'));
    });
    this.#rest();
  }

  leaveWhenIdle(): void {
    if (this.#running !== undefined || this.#waiting.length > 0) return;
    this.#ws.close(this.#isCut ? RESTARTS : 1001, 'the gateway stops');
  }

  /** Ends the running call: its client gets the form's own error, and a close that says that it may come again. */
  cut(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#ws.readyState === WebSocket.CLOSED) resolve();
      else this.#ws.once('close', () => resolve());
    });
    this.#isCut = true;
    this.#waiting.length = 0;
    this.#running?.abort(fail('overloaded', 'the gateway is stopping'));
    return closed;
  }

  #take(data: Buffer): void {
    // One that was told to leave is not worked for.
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    if (this.#draining() && this.#running === undefined) this.leaveWhenIdle();
    else if (this.#waiting.length >= MOST_WAITING) this.#ws.close(1008, 'too many messages at once');
    else {
      this.#waiting.push(data);
      this.#count();
      if (this.#running === undefined) void this.#work();
    }
  }

  async #work(): Promise<void> {
    clearTimeout(this.#idle);
    for (let data = this.#waiting.shift(); data !== undefined; data = this.#waiting.shift()) {
      this.#count();
      const call = callOf(this.#deps, this.#req);
      call.earlier = this.#earlier;
      this.#running = call;
      try {
        await this.#answer(call, data);
      } catch (thrown) {
        this.#tell(toGatewayError(thrown));
      } finally {
        this.#running = undefined;
      }
      if (this.#draining()) this.#waiting.length = 0;
    }
    if (this.#draining()) this.leaveWhenIdle();
    else this.#rest();
  }

  #count(): void {
    this.#reading.wait(this.#waiting.reduce((sum, { length }) => sum + length, 0));
  }

  async #answer(call: Call, data: Buffer): Promise<void> {
    const json = await messageIn(data);
    call.bodyBytes = data.length;
    if (!(await this.#deps.identify(call))) throw fail('unauthenticated', 'the API key is no longer valid');
    const { type, ...request } = json;
    if (type !== 'response.create')
      throw fail('validation_failed', 'type: must be "response.create"', { param: 'type' });
    const input = (): Message =>
      codec.decodeRequest(CreateResponseRequestSchema, { ...request, stream: true });
    const events = await this.#deps.transport.stream(call, input);
    for await (const event of events) {
      if (this.#ws.readyState !== WebSocket.OPEN) return;
      const raw = rawJsonOf(event) ?? JSON.stringify(codec.encode(METHOD.output, event));
      this.#ws.send(jsonText(raw));
      if (this.#ws.bufferedAmount > MOST_UNREAD) await this.#read();
    }
  }

  /** Waits until the client has read. */
  async #read(): Promise<void> {
    const until = Date.now() + STALL_MS;
    while (this.#ws.readyState === WebSocket.OPEN && this.#ws.bufferedAmount > MOST_UNREAD / 2) {
      if (Date.now() > until) {
        this.#ws.terminate();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #tell(error: GatewayError): void {
    if (error.details.told || error.reason === 'client_closed' || this.#ws.readyState !== WebSocket.OPEN)
      return;
    const body = errorBody(error, { plane: Plane.DATA, form: Form.RESPONSES });
    this.#ws.send(JSON.stringify({ type: 'error', ...body, status: error.status }));
  }

  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#ws.close(1000, 'nothing was asked for too long'), IDLE_MS).unref();
  }
}

/** @throws GatewayError malformed_body, validation_failed */
async function messageIn(data: Buffer): Promise<Readonly<Record<string, unknown>>> {
  if (await isTooHeavy(data))
    throw fail('body_too_large', 'the message has too many members and items: send it in parts');
  const text = data.toString('utf8');
  if (data.length > LIGHT_BYTES) await nextTurn();
  let json: unknown;
  try {
    json = JSON.parse(text);
    if (data.length > LIGHT_BYTES) await nextTurn();
  } catch {
    throw fail('malformed_body', 'the message is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw fail('malformed_body', 'the message must be an object');
  return json as Readonly<Record<string, unknown>>;
}
