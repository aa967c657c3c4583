// Answers onto the socket.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { errorBody } from './error-body.ts';

/** Name and value pairs. */
export type Pairs = Iterable<readonly [string, string]>;

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
  res.end(json);
}

/** An error in its plane's shape. */
export function respondError(res: ServerResponse, error: GatewayError, plane: Plane, headers: Pairs): void {
  const all: [string, string][] = [...headers].map(([name, value]) => [name, value]);
  const { retryAfterMs } = error.facts;
  if (retryAfterMs !== undefined) {
    all.push(
      ['retry-after', String(Math.ceil(retryAfterMs / 1000))],
      ['retry-after-ms', String(Math.ceil(retryAfterMs))],
    );
  }
  // An unread body is not drained from a caller who sends too much: the connection ends.
  if (error.reason === 'body_too_large') all.push(['connection', 'close']);
  respondJson(
    res,
    error.status,
    JSON.stringify(errorBody(error, plane)),
    res.req.httpVersionMajor === 2 ? all.filter(([name]) => name !== 'connection') : all,
  );
}

/** Resolves when more may be written. @throws GatewayError client_closed when the client has left. */
export function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) {
      reject(clientClosed());
      return;
    }
    const done = (): void => {
      res.off('close', closed);
      resolve();
    };
    const closed = (): void => {
      res.off('drain', done);
      reject(clientClosed());
    };
    res.once('drain', done);
    res.once('close', closed);
  });
}

/** Calls back once when the client leaves before the answer is complete. */
export function onLeave(
  req: IncomingMessage,
  res: ServerResponse,
  left: (error: GatewayError) => void,
): void {
  res.once('close', () => {
    if (!res.writableFinished) left(clientClosed());
  });
  // Over HTTP/1 a reset while the body is read shows on the request first.
  req.once('error', () => left(clientClosed()));
}

function clientClosed(): GatewayError {
  return fail('client_closed', 'the client has left');
}
