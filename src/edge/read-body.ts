// A request's JSON body, read whole within bounds of size and time.
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { AbortLike } from '../lib/abort.ts';
import { fail, type GatewayError } from '../lib/errors.ts';

/** How often stalled bodies are looked for, in milliseconds. */
const IDLE_MS = 30_000;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;

const DECODERS: Readonly<
  Record<string, (body: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
};

/** Reads bodies; one watch over all that are being read bounds how long each may stall. */
export class BodyReader {
  readonly #limit: number;
  readonly #reading = new Set<Reading>();
  #watch: NodeJS.Timeout | undefined;

  /** @param limit longest body in bytes, compressed or not */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * The body's bytes, decompressed.
   * @throws GatewayError body_too_large, unsupported_media_type, malformed_body, request_timeout, or the signal's reason.
   */
  async read(req: IncomingMessage, signal: AbortLike): Promise<Uint8Array> {
    if (!isJson(req.headers['content-type'])) {
      throw fail('unsupported_media_type', 'content-type: must be application/json', {
        param: 'content-type',
      });
    }
    const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
    const decode = DECODERS[encoding];
    if (decode === undefined && encoding !== 'identity') {
      throw fail('unsupported_media_type', 'content-encoding: must be gzip, deflate, br or identity', {
        param: 'content-encoding',
      });
    }
    if (Number(req.headers['content-length'] ?? 0) > this.#limit) throw tooLarge(this.#limit);
    const body = await this.#whole(req, signal);
    if (decode === undefined) return body;
    try {
      return await decode(body, { maxOutputLength: this.#limit });
    } catch (cause) {
      if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(this.#limit);
      throw fail('malformed_body', `the body is not valid ${encoding}`, { cause });
    }
  }

  #whole(req: IncomingMessage, signal: AbortLike): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const aborted = (): void => stop(signal.reason as GatewayError);
      const stop = (error: GatewayError): void => {
        this.#reading.delete(reading);
        signal.removeEventListener('abort', aborted);
        req.removeAllListeners('data').pause();
        reject(error);
      };
      const reading: Reading = { stalled: false, stop };
      this.#add(reading);
      if (signal.aborted) {
        aborted();
        return;
      }
      signal.addEventListener('abort', aborted);
      req.on('data', (chunk: Buffer) => {
        size += chunk.length;
        reading.stalled = false;
        if (size > this.#limit) stop(tooLarge(this.#limit));
        else chunks.push(chunk);
      });
      req.on('end', () => {
        this.#reading.delete(reading);
        signal.removeEventListener('abort', aborted);
        resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
      });
    });
  }

  #add(reading: Reading): void {
    this.#reading.add(reading);
    this.#watch ??= setInterval(() => this.#look(), IDLE_MS);
    this.#watch.unref();
  }

  /** A body that has stood still since the last look is given up; so the bound is IDLE_MS to twice that. */
  #look(): void {
    for (const reading of this.#reading) {
      if (reading.stalled) reading.stop(fail('request_timeout', 'the body did not arrive in time'));
      reading.stalled = true;
    }
    if (this.#reading.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }
}

/** Whether a body of that content type is read as JSON; one without is. */
function isJson(type: string | undefined): boolean {
  return type === undefined || JSON_TYPE.test(type);
}

interface Reading {
  stalled: boolean;
  readonly stop: (error: GatewayError) => void;
}

function tooLarge(limit: number): GatewayError {
  return fail('body_too_large', `the body is larger than ${limit} bytes`);
}
