// The provider's side of a session: a WebSocket over a connection that passed the firewall's rules.
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Call } from '../../call/call.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { MOST_MESSAGE, WEBSOCKET_BOUNDS } from '../../lib/websocket-bounds.ts';
import { authHeaders } from '../../providers/auth/index.ts';
import { locateRaw } from '../../providers/locate.ts';
import { dialectOf } from '../pipeline/operation-of.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { upstreamError } from '../pipeline/upstream.ts';
import type { BoundTarget } from '../plan/bind.ts';

const HANDSHAKE_MS = 30_000;
/** Longest refusal that is read, in bytes. */
const MOST_REFUSAL = 64 * 1024;

/** A session that the provider has accepted. */
export interface Dialled {
  readonly ws: WebSocket;
  readonly bound: BoundTarget;
  readonly outbound: OutboundRequest;
  /** As the provider knows it; empty: the first event says it. */
  readonly model: string;
  /** Frames that came with the acceptance. */
  readonly early: readonly (readonly [Buffer, boolean])[];
}

/**
 * Opens a session. @param asked the model that the caller named
 * @throws GatewayError operation_unsupported, forbidden, upstream_status with the provider's own status, upstream_unreachable
 */
export async function dial(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  asked: string | undefined,
): Promise<Dialled> {
  const { target, stored, forwarded } = bound;
  const { provider } = target;
  if (provider.realtime === undefined)
    throw fail('operation_unsupported', `${provider.id} does not offer realtime sessions`, {
      provider: provider.id,
    });
  const model = bound.model ?? asked ?? '';
  checkAllowed(bound, model);
  call.record.provider = provider.id;
  call.record.model = model;
  call.record.virtualKey = stored?.slug;
  const dialect = dialectOf(pipeline, target);
  const { origin, path } = locateRaw(target, provider.realtime.path(model, target.options));
  const plain: OutboundRequest = {
    origin,
    path,
    method: 'GET',
    headers: [...forwarded, ...dialect.headers(target), ...authHeaders(target), 'user-agent', 'sluice'],
    body: undefined,
    signal: call.signal,
    network: stored?.network,
    localPort: provider.localPort,
  };
  const outbound = (await pipeline.credentials.authorised(bound, plain)) ?? plain;
  const { socket, forward, extraHeaders } = await pipeline.dialer.socket(outbound);
  const { host } = new URL(origin);
  const early: [Buffer, boolean][] = [];
  const ws = new WebSocket(`ws://${host}${path}`, {
    createConnection: () => socket,
    headers: objectOf([...outbound.headers, ...extraHeaders]),
    ...WEBSOCKET_BOUNDS,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MOST_MESSAGE,
    ...(forward === '' ? {} : { path: forward + path }),
  });
  const keep = (data: Buffer, isBinary: boolean): number => early.push([data, isBinary]);
  ws.on('message', keep as (data: unknown, isBinary: boolean) => void);
  try {
    await accepted(ws, call, (head, body) => upstreamError(target, dialect, head, body));
  } catch (thrown) {
    ws.on('error', () => {}).terminate();
    socket.destroy();
    throw thrown;
  }
  ws.off('message', keep as (data: unknown, isBinary: boolean) => void);
  ws.pause();
  return { ws, bound, outbound, model, early };
}

/** @throws GatewayError forbidden for a model that the integration does not allow */
function checkAllowed({ stored }: BoundTarget, model: string): void {
  const { models } = stored ?? {};
  if (models?.restricted !== true || (model !== '' && models.allows(model))) return;
  throw fail(
    'forbidden',
    `model: ${model === '' ? 'must be named' : model} is not allowed by the integration of this stored provider`,
    { param: 'model' },
  );
}

type Refuse = (head: Parameters<typeof upstreamError>[2], body: Uint8Array) => GatewayError;

function accepted(ws: WebSocket, { signal }: Call, refusal: Refuse): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(toGatewayError(signal.reason));
    signal.addEventListener('abort', aborted);
    if (signal.aborted) aborted();
    ws.once('open', () => {
      signal.removeEventListener('abort', aborted);
      resolve();
    });
    ws.on('error', (cause) => {
      signal.removeEventListener('abort', aborted);
      reject(fail('upstream_unreachable', 'the provider did not accept the session', { cause }));
    });
    ws.once('unexpected-response', (_request, response: IncomingMessage) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const told = (): void => {
        signal.removeEventListener('abort', aborted);
        const head = {
          status: response.statusCode ?? 502,
          rawHeaders: response.rawHeaders,
          header: (name: string) => {
            const value = response.headers[name];
            return typeof value === 'string' ? value : value?.join(', ');
          },
        };
        reject(refusal(head, Buffer.concat(pieces)));
      };
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= MOST_REFUSAL) pieces.push(piece);
        else response.destroy();
      });
      response.once('end', told).once('close', told).once('error', told);
    });
  });
}

function objectOf(pairs: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) headers[pairs[i]!.toLowerCase()] = pairs[i + 1]!;
  // The caller's own handshake is with the gateway.
  for (const name of Object.keys(headers))
    if (/^(?:sec-websocket-|connection$|upgrade$|host$)/.test(name)) delete headers[name];
  return headers;
}
