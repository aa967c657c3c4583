// A request's body in one piece, for signatures over it.
import type { OutboundBody } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';

/** Longest body that comes in pieces and is kept to be signed, in bytes. */
const MOST_BYTES = 25 * 1024 * 1024;

/** The body; empty without one. @throws GatewayError body_too_large */
export async function wholeBody(body: OutboundBody): Promise<string | Uint8Array> {
  if (body === undefined) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  const pieces = new Pieces();
  for await (const piece of body) {
    pieces.push(piece);
    if (pieces.bytes > MOST_BYTES)
      throw fail('body_too_large', `a request that is signed may have at most ${MOST_BYTES} bytes`);
  }
  return pieces.take();
}
