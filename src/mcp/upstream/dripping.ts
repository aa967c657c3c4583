// Bodies that never end although they are never silent: blanks are no sign of life, and a whole body has a bound of its own.
import { fail } from '../../lib/errors.ts';
import { ASKED_MS } from '../relay/patience.ts';

/**
 * A check for each piece of one body.
 * @param silenceMs how long nothing but blanks may come
 * @returns throws GatewayError upstream_timeout
 */
export function unlessDripping(silenceMs: number): (piece: Uint8Array) => void {
  const begun = performance.now();
  let saidAt = begun;
  return (piece) => {
    const now = performance.now();
    if (piece.some((byte) => byte > 0x20)) saidAt = now;
    if (now - saidAt > silenceMs)
      throw fail('upstream_timeout', `the MCP server sent nothing but blanks for ${silenceMs} ms`);
    if (now - begun > ASKED_MS)
      throw fail('upstream_timeout', `the MCP server did not end its answer within ${ASKED_MS} ms`);
  };
}
