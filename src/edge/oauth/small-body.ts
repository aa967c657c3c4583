// A small body of a stranger, read whole within the bounds of size, time and memory that hold for all strangers together.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { OauthError } from '../../access/oauth/oauth-error.ts';
import { Aborter } from '../../lib/abort.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { BodyReader } from '../read-body.ts';

/** Bytes of a form or of a client's metadata. */
const MOST_BYTES = 32 * 1024;

/** @param type of the content, e.g. "application/json" @throws OauthError invalid_request, temporarily_unavailable */
export async function readSmallBody(
  bodies: BodyReader,
  { req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse },
  type: string,
): Promise<string> {
  const given = (req.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (given !== type) throw new OauthError('invalid_request', `content-type: must be ${type}`, 415);
  if ((req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new OauthError('invalid_request', 'content-encoding: must be identity', 415);
  const aborter = new Aborter();
  const left = (): void => aborter.abort(fail('client_closed', 'the client has left'));
  res.once('close', left);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await bodies.readSmall(req, MOST_BYTES, aborter));
  } catch (error) {
    if (!(error instanceof GatewayError))
      throw new OauthError('invalid_request', 'the body cannot be read: it must be UTF-8');
    const code = error.reason === 'overloaded' ? 'temporarily_unavailable' : 'invalid_request';
    throw new OauthError(code, error.message, error.status);
  } finally {
    res.off('close', left);
  }
}
