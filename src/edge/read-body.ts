// A request's JSON body, read whole within bounds of size, time and memory.
import type { IncomingMessage } from 'node:http';
import type { AbortLike } from '../lib/abort.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { decoderOf } from '../lib/incoming/decoders.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import { pauseForTurn } from '../lib/incoming/pause-for-turn.ts';
import { Pieces } from '../lib/incoming/pieces.ts';
import type { Reading, ReadingBudget } from '../lib/incoming/reading-budget.ts';

const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;

/** Reads bodies. */
export class BodyReader {
  readonly #pace: Pace;
  readonly #budget: ReadingBudget;

  constructor(pace: Pace, budget: ReadingBudget) {
    this.#pace = pace;
    this.#budget = budget;
  }

  /**
   * The body's bytes, decompressed.
   * @param limit longest body in bytes, compressed or not
   * @param keyId whose budget of bytes it counts against; undefined: that of callers without a key
   * @param untyped whether a body that says no type, or bytes of any, is JSON all the same: AWS's clients say so
   * @throws GatewayError body_too_large, unsupported_media_type, malformed_body, request_timeout, overloaded, or the signal's reason.
   */
  async read(
    req: IncomingMessage,
    limit: number,
    signal: AbortLike,
    keyId: string | undefined,
    untyped = false,
  ): Promise<Uint8Array> {
    const type = req.headers['content-type'];
    const isBytes = type === undefined || /^application\/octet-stream\b/i.test(type);
    if (!isJson(type) && !(untyped && isBytes)) {
      const form = FORM_TYPE.test(type ?? '');
      // What curl -d sends when it is not told otherwise.
      const how = form ? ": with curl, add -H 'content-type: application/json'" : '';
      throw fail('unsupported_media_type', `content-type: must be application/json${how}`, {
        param: 'content-type',
      });
    }
    const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
    const decoder = decoderOf(encoding);
    if (decoder === undefined && encoding !== 'identity') {
      throw fail('unsupported_media_type', 'content-encoding: must be gzip, deflate, br or identity', {
        param: 'content-encoding',
      });
    }
    if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    const reading = this.#budget.open(keyId);
    try {
      const body = await this.#whole(req, limit, signal, reading);
      if (decoder === undefined) return body;
      return await decoder(body, limit, (held) => reading.hold(body.length + held));
    } finally {
      reading.release();
    }
  }

  /**
   * The bytes of a short form (application/x-www-form-urlencoded) of a caller without a key.
   * @throws GatewayError as `read`
   */
  async readForm(req: IncomingMessage, limit: number, signal: AbortLike): Promise<Uint8Array> {
    if (!FORM_TYPE.test(req.headers['content-type'] ?? ''))
      throw fail('unsupported_media_type', 'content-type: must be application/x-www-form-urlencoded', {
        param: 'content-type',
      });
    return this.readSmall(req, limit, signal);
  }

  /**
   * The bytes of a body of a caller without a key, whatever its type is.
   * @throws GatewayError body_too_large, request_timeout, overloaded, or the signal's reason
   */
  async readSmall(req: IncomingMessage, limit: number, signal: AbortLike): Promise<Uint8Array> {
    if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    const reading = this.#budget.open(undefined);
    try {
      return await this.#whole(req, limit, signal, reading);
    } finally {
      reading.release();
    }
  }

  #whole(req: IncomingMessage, limit: number, signal: AbortLike, reading: Reading): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const pieces = new Pieces();
      let count = 0;
      const aborted = (): void => stop(signal.reason as GatewayError);
      const watched = this.#pace.watch(true, (error) => stop(error));
      const stop = (error: GatewayError): void => {
        this.#pace.done(watched);
        signal.removeEventListener('abort', aborted);
        req.removeAllListeners('data').pause();
        pieces.take();
        reject(error);
      };
      if (signal.aborted) {
        aborted();
        return;
      }
      signal.addEventListener('abort', aborted);
      req.on('data', (piece: Buffer) => {
        watched.bytes += piece.length;
        pieces.push(piece);
        if (pieces.bytes > limit) stop(tooLarge(limit));
        else
          try {
            reading.hold(pieces.held);
            pauseForTurn(req, ++count);
          } catch (error) {
            stop(error as GatewayError);
          }
      });
      req.on('end', () => {
        this.#pace.done(watched);
        signal.removeEventListener('abort', aborted);
        resolve(pieces.isShort ? pieces.take() : pieces.takeInTurns());
      });
    });
  }
}

/** Whether a body of that content type is read as JSON; one without is. */
export function isJson(type: string | undefined): boolean {
  return type === undefined || JSON_TYPE.test(type);
}

function tooLarge(limit: number): GatewayError {
  return fail('body_too_large', `the body is larger than ${limit} bytes`);
}
