// A request's JSON body, read whole within bounds of size and time.
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { fail, type GatewayError } from '../lib/errors.ts';

/** Longest silence between two pieces of a body, in milliseconds. */
const IDLE_MS = 60_000;

const DECODERS: Readonly<
  Record<string, (body: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
};

/**
 * The body's bytes, decompressed.
 * @throws GatewayError body_too_large, unsupported_media_type, malformed_body, request_timeout or client_closed.
 */
export async function readJsonBody(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  const type = req.headers['content-type'];
  if (type !== undefined && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    throw fail('unsupported_media_type', 'content-type: must be application/json', { param: 'content-type' });
  }
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
  const decode = DECODERS[encoding];
  if (decode === undefined && encoding !== 'identity') {
    throw fail('unsupported_media_type', 'content-encoding: must be gzip, deflate, br or identity', {
      param: 'content-encoding',
    });
  }
  const body = await readWhole(req, limit);
  if (decode === undefined) return body;
  try {
    return await decode(body, { maxOutputLength: limit });
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit);
    throw fail('malformed_body', `the body is not valid ${encoding}`, { cause });
  }
}

function readWhole(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let last = Date.now();
    const idle = setInterval(() => {
      if (Date.now() - last > IDLE_MS) settle(fail('request_timeout', 'the body did not arrive in time'));
    }, IDLE_MS / 4);
    const settle = (error: GatewayError | undefined): void => {
      clearInterval(idle);
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      if (error) {
        req.pause();
        reject(error);
      } else {
        resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
      }
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      last = Date.now();
      if (size > limit) settle(tooLarge(limit));
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(undefined);
    const onClose = (): void => settle(fail('client_closed', 'the client has left'));
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(limit: number): GatewayError {
  return fail('body_too_large', `the body is larger than ${limit} bytes`);
}
