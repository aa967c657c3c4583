// A streamed body read whole, up to a bound.
import { Pieces } from '../../lib/incoming/pieces.ts';

/** At most `maxBytes` of the body; the rest is not read. */
export async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const pieces = new Pieces();
  for await (const chunk of body) {
    pieces.push(chunk);
    if (pieces.bytes >= maxBytes) break;
  }
  return (await pieces.takeInTurns()).subarray(0, maxBytes);
}
