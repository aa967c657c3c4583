// Answers onto the socket.
import type { ServerResponse } from 'node:http';
import { Form } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { type ErrorShape, errorBody } from '../rest/error-body.ts';
import { exceptionName } from '../rest/native-errors.ts';
import { hasBody } from './has-body.ts';

/** Name and value pairs. */
export type Pairs = Iterable<readonly [string, string]>;

/** A JSON answer, whole. */
export interface JsonAnswer {
  readonly status: number;
  readonly json: string | Uint8Array;
  readonly headers: Pairs;
}

/** A client that takes nothing of its answer for so long is given up. */
const STALL_MS = 300_000;
/** Bodies up to this size are joined with their head. */
export const MAX_JOINED = 16_384;

/** A JSON answer, whole. */
export function respondJson(
  res: ServerResponse,
  status: number,
  json: string | Uint8Array,
  headers: Pairs,
): void {
  if (res.destroyed || res.headersSent) return;
  const out: Record<string, string | number> = { 'content-type': 'application/json' };
  for (const [name, value] of headers) out[name] = value;
  out['content-length'] = typeof json === 'string' ? Buffer.byteLength(json) : json.length;
  res.writeHead(status, out);
  // Head and body leave in one write when both are strings; latin-1 keeps the bytes as they are.
  if (typeof json === 'string' || json.length > MAX_JOINED) res.end(json);
  else res.end(Buffer.from(json.buffer, json.byteOffset, json.length).toString('latin1'), 'latin1');
}

/** An error in its route's shape, as it is written. */
export function errorAnswer(
  error: GatewayError,
  shape: ErrorShape,
  headers: Pairs,
): JsonAnswer & { readonly headers: readonly (readonly [string, string])[] } {
  const all = [...headers];
  const { retryAfterMs } = error.details;
  if (retryAfterMs !== undefined) {
    all.push(
      ['retry-after', String(Math.ceil(retryAfterMs / 1000))],
      ['retry-after-ms', String(Math.ceil(retryAfterMs))],
    );
  }
  if (shape.form === Form.BEDROCK) all.push(['x-amzn-errortype', exceptionName(error)]);
  return { status: error.status, json: JSON.stringify(errorBody(error, shape)), headers: all };
}

/** An error in its route's shape. */
export function respondError(
  res: ServerResponse,
  error: GatewayError,
  shape: ErrorShape,
  headers: Pairs,
): void {
  const { status, json, headers: own } = errorAnswer(error, shape, headers);
  const all = [...own];
  // A body that was not read is not read for its own sake: the connection ends.
  if (!res.req.complete && hasBody(res.req)) all.push(['connection', 'close']);
  respondJson(
    res,
    status,
    json,
    res.req.httpVersionMajor === 2 ? all.filter(([name]) => name !== 'connection') : all,
  );
}

/** What takes bytes: an answer, or a socket. */
interface Draining {
  readonly destroyed: boolean;
  destroy(): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/**
 * Resolves when more may be written. @throws GatewayError client_closed when the client has left, or takes nothing for
 * `stallMs`; then its connection is ended.
 */
export function drained(res: Draining, stallMs: number = STALL_MS): Promise<void> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) {
      reject(clientClosed());
      return;
    }
    const stalled = setTimeout(() => res.destroy(), stallMs);
    const done = (): void => {
      clearTimeout(stalled);
      res.off('close', closed);
      resolve();
    };
    const closed = (): void => {
      clearTimeout(stalled);
      res.off('drain', done);
      reject(clientClosed());
    };
    res.once('drain', done);
    res.once('close', closed);
  });
}

function clientClosed(): GatewayError {
  return fail('client_closed', 'the client has left');
}
