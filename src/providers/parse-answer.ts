// A whole answer's bytes as JSON.
import { fail } from '../lib/errors.ts';

/** The JSON value of an answer's bytes. @throws GatewayError `upstream_garbage` when they are no JSON. */
export function parseAnswer(body: Uint8Array, provider: string): unknown {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fail('upstream_garbage', 'the provider answered with something that is not JSON', {
      provider,
      cause,
    });
  }
}
