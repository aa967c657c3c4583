// Realtime over WebSocket: GET /v1/realtime with an upgrade. The key, its scope and limits are checked, and the provider
// has accepted, before the client's upgrade is answered: until then a refusal is an HTTP answer.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { create, type Message } from '@bufbuild/protobuf';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type RealtimeFrame,
  RealtimeFrameSchema,
  RealtimeOpenSchema,
  RealtimeService,
} from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { Call } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type IncomingHeaders } from '../lib/gateway-headers.ts';
import { MOST_MESSAGE, WEBSOCKET_BOUNDS } from '../lib/websocket-bounds.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from '../rest/error-body.ts';
import { readQuery } from '../rest/query.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import type { Upgrades } from './responses-socket.ts';
import type { RestDeps } from './rest-deps.ts';
import { SocketFrames } from './socket-frames.ts';
import { SocketReading } from './socket-reading.ts';

const PATH = /^\/v[12]\/realtime\/?(?:\?|$)/;
const METHOD = RealtimeService.method.connect;
/** How browsers, which cannot set headers, bring a key (OpenAI, "Realtime API with WebSockets"). */
const KEY_PROTOCOL = 'openai-insecure-api-key.';
/** Bytes that a client may leave unread before the provider's frames wait, and how long, in milliseconds. */
const MOST_UNREAD = 256 * 1024;
const STALL_MS = 300_000;
/** How often keys of open sessions are looked at, in milliseconds. */
const CHECK_MS = 2000;
/** What no client may say in the name of a session's own headers. */
const HANDSHAKE = /^(?:sec-websocket-|connection$|upgrade$)/;

export type RealtimeSocketDeps = Pick<
  RestDeps,
  'transport' | 'names' | 'bodyLimit' | 'budget' | 'identify' | 'prove' | 'full' | 'refuse'
>;

export function realtimeSockets(deps: RealtimeSocketDeps): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: Math.min(deps.bodyLimit, MOST_MESSAGE),
    ...WEBSOCKET_BOUNDS,
    handleProtocols: (offered) => [...offered].find((name) => !name.startsWith(KEY_PROTOCOL)) ?? false,
  });
  const sessions = new Set<{ readonly ws: WebSocket; readonly req: IncomingMessage }>();
  let draining = false;
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    for (const { ws, req } of sessions)
      void Promise.resolve(deps.identify(callOf(deps, req))).then((known) => {
        if (!known) ws.close(1008, 'the API key is no longer valid');
      });
  };
  return {
    wants: ({ url = '', headers, method }) =>
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && PATH.test(url),
    upgrade(req, socket, head) {
      socket.on('error', () => socket.destroy());
      const call = callOf(deps, req);
      // Once it is a WebSocket, its own close is told to the provider.
      const left = (): void => call.abort(fail('client_closed', 'the client has left'));
      socket.once('close', left);
      open(deps, call, req, draining).then(
        ({ frames, messages }) => {
          if (socket.destroyed) return void messages.return?.();
          if (draining) {
            void messages.return?.();
            return refuse(socket, fail('overloaded', 'the gateway is about to stop'), []);
          }
          deps.prove(req);
          socket.off('close', left);
          server.handleUpgrade(req, socket, head, (ws) => {
            const session = { ws, req };
            sessions.add(session);
            timer ??= setInterval(check, CHECK_MS).unref();
            ws.once('close', () => {
              sessions.delete(session);
              if (sessions.size > 0) return;
              clearInterval(timer);
              timer = undefined;
            });
            frames.attach(ws, new SocketReading(ws, socket, deps.budget.open(call.principal?.keyId)));
            void relay(ws, messages, frames);
          });
          return undefined;
        },
        (thrown: unknown) => refuse(socket, toGatewayError(thrown), answerHeaders(call)),
      );
    },
    drain() {
      draining = true;
      for (const { ws } of sessions) ws.close(1001, 'the gateway stops');
    },
    // They were told at the drain's begin.
    cut: () => Promise.resolve(),
  };
}

interface Open {
  readonly frames: SocketFrames;
  readonly messages: AsyncIterator<RealtimeFrame>;
}

/** Resolves when the provider has accepted. @throws GatewayError what any stage refuses with */
async function open(
  deps: RealtimeSocketDeps,
  call: Call,
  req: IncomingMessage,
  draining: boolean,
): Promise<Open> {
  if (draining || deps.full(false))
    throw fail('overloaded', 'too many calls are in progress', { retryAfterMs: 1000 });
  if (!(await deps.identify(call))) {
    const error = deps.refuse(call, req);
    if (error !== undefined) throw error;
  }
  const url = req.url ?? '';
  const mark = url.indexOf('?');
  const value = codec.decodeRequest(
    RealtimeOpenSchema,
    readQuery(RealtimeOpenSchema, mark === -1 ? '' : url.slice(mark + 1)),
  );
  const frames = new SocketFrames(create(RealtimeFrameSchema, { kind: { case: 'open', value } }));
  const messages = (await deps.transport.stream(call, frames))[
    Symbol.asyncIterator
  ]() as AsyncIterator<Message>;
  const first = (await messages.next()).value as RealtimeFrame | undefined;
  if (first?.kind.case !== 'opened') throw fail('upstream_interrupted', 'the session ended before it began');
  return { frames, messages: messages as AsyncIterator<RealtimeFrame> };
}

/** The provider's frames to the client, no faster than it reads. */
async function relay(
  ws: WebSocket,
  messages: AsyncIterator<RealtimeFrame>,
  frames: SocketFrames,
): Promise<void> {
  ws.once('close', () => void messages.return?.()?.catch(() => {}));
  try {
    for (let next = await messages.next(); !next.done; next = await messages.next()) {
      const { kind } = next.value;
      if (kind.case === 'close') return ws.close(kind.value.code, kind.value.reason);
      if (kind.case !== 'text' && kind.case !== 'binary') continue;
      ws.send(kind.value, { binary: kind.case === 'binary' });
      if (ws.bufferedAmount > MOST_UNREAD) await read(ws);
    }
    ws.close(1000);
  } catch (thrown) {
    ws.close(1011, toGatewayError(thrown).reason);
  } finally {
    frames.end();
  }
}

/** Waits until the client has read; one that never does is given up. */
async function read(ws: WebSocket): Promise<void> {
  const until = performance.now() + STALL_MS;
  while (ws.readyState === ws.OPEN && ws.bufferedAmount > MOST_UNREAD / 2) {
    if (performance.now() > until) return ws.terminate();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function callOf({ names }: RealtimeSocketDeps, { headers, socket }: IncomingMessage): Call {
  return new Call(METHOD, {
    protocol: 'rest',
    headers: new GatewayHeaders(names, ownHeaders(names.canonical, headers)),
    httpMethod: 'POST',
    path: '/realtime',
    remote: socket.remoteAddress ?? '',
    connection: socket,
  });
}

/** The client's headers without its handshake; a key among the subprotocols is one of the gateway. */
function ownHeaders(prefix: string, given: IncomingHeaders): IncomingHeaders {
  const headers: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(given)) if (!HANDSHAKE.test(name)) headers[name] = value;
  const offered = String(given['sec-websocket-protocol'] ?? '').split(',');
  const key = offered.map((one) => one.trim()).find((one) => one.startsWith(KEY_PROTOCOL));
  if (key !== undefined) headers[`${prefix}api-key`] ??= key.slice(KEY_PROTOCOL.length);
  return headers;
}

function refuse(socket: Duplex, error: GatewayError, headers: Iterable<readonly [string, string]>): void {
  const body = JSON.stringify(errorBody(error, { plane: Plane.DATA }));
  const { retryAfterMs } = error.details;
  const head = [
    `HTTP/1.1 ${error.status} ${error.reason}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(retryAfterMs === undefined ? [] : [`retry-after: ${Math.ceil(retryAfterMs / 1000)}`]),
    ...[...headers].map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
