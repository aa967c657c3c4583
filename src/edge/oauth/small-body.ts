// A small body of a stranger, read whole within bounds of size and time.
import type { IncomingMessage } from 'node:http';
import { OauthError } from '../../access/oauth/oauth-error.ts';

/** Bytes of a form or of a client's metadata. */
const MOST_BYTES = 32 * 1024;
const READ_MS = 10_000;

/** @param type of the content, e.g. "application/json" @throws OauthError invalid_request */
export async function readSmallBody(req: IncomingMessage, type: string): Promise<string> {
  const given = (req.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (given !== type) throw new OauthError('invalid_request', `content-type: must be ${type}`, 415);
  if ((req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new OauthError('invalid_request', 'content-encoding: must be identity', 415);
  if (Number(req.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLarge();
  const late = setTimeout(() => req.destroy(), READ_MS);
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of req as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > MOST_BYTES) throw tooLarge();
      pieces.push(piece);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    if (error instanceof OauthError) throw error;
    throw new OauthError('invalid_request', 'the body cannot be read: it must be UTF-8');
  } finally {
    clearTimeout(late);
  }
}

function tooLarge(): OauthError {
  return new OauthError('invalid_request', `the body has more than ${MOST_BYTES} bytes`, 413);
}
