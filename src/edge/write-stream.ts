// Text that comes in pieces, e.g. server-sent events, onto the socket: a comment now and then keeps it open.
import type { ServerResponse } from 'node:http';
import { toGatewayError } from '../lib/errors.ts';
import { drained, type Pairs } from './respond.ts';

const KEEP_ALIVE_MS = 15_000;

/** Writes until the pieces end, or the client leaves. */
export async function writeStream(
  res: ServerResponse,
  status: number,
  headers: Pairs,
  pieces: AsyncIterable<string>,
): Promise<void> {
  const head: Record<string, string> = {};
  for (const [name, value] of headers) head[name] = value;
  res.writeHead(status, head);
  res.flushHeaders();
  const idle = setInterval(() => {
    if (!res.writableNeedDrain) res.write(': keepalive\n\n');
  }, KEEP_ALIVE_MS).unref();
  try {
    for await (const piece of pieces) if (!res.write(piece)) await drained(res);
    res.end();
  } catch (thrown) {
    if (toGatewayError(thrown).reason === 'client_closed') res.destroy();
    else res.end();
  } finally {
    clearInterval(idle);
  }
}
