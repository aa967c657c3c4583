// Pages that anybody may read have a rate for each client address: beyond it they are 429, and their connection ends.
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { AddressRates, isLoopback } from '../lib/address-rates.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { errorBody } from '../rest/error-body.ts';

export interface PageRatesOptions {
  /** Pages of one address; undefined: 100, and any number from the machine itself. */
  readonly perSecond: number | undefined;
  /** The client's address; proxies in front are seen through as far as they are trusted. */
  readonly addressOf: (req: IncomingMessage) => string;
  /** Ends the connection after its answer, unless it has shown a valid key. */
  readonly hangUp: (req: IncomingMessage) => void;
}

const PER_SECOND = 100;
/** Bytes of a page that count as one page more. */
const SHARE_BYTES = 262_144;
/** What a page of metrics counts: it is made anew for each. */
const METRICS_SHARE = 4;
/** Callers with a token of their own come there, and those without one have a rate there. */
const EXEMPT = /^\/(?:scim\/v2|oauth\/token|oauth\/revoke)(?:[/?]|$)/;

export class PageRates {
  readonly #options: PageRatesOptions;
  readonly #rates: AddressRates;

  constructor(options: PageRatesOptions) {
    this.#options = options;
    this.#rates = new AddressRates(options.perSecond ?? PER_SECOND);
  }

  /** Counts a page. @returns why it is refused, where too many are asked for */
  take(req: IncomingMessage, share = 1): GatewayError | undefined {
    const { perSecond, addressOf, hangUp } = this.#options;
    const address = addressOf(req);
    if (perSecond === undefined && isLoopback(address)) return undefined;
    const retryAfterMs = this.#rates.take(address, share);
    if (retryAfterMs === 0) return undefined;
    hangUp(req);
    return fail('rate_limited', 'too many pages are asked for from this address: try again later', {
      retryAfterMs: Math.max(1000, retryAfterMs),
    });
  }

  /** Counts each page, and large ones by their length. */
  readonly counted: Middleware = async (ctx, next) => {
    if (EXEMPT.test(ctx.path)) return next();
    let error = this.take(ctx.req, ctx.path === '/metrics' ? METRICS_SHARE : 1);
    if (error === undefined) {
      await next();
      const { body } = ctx;
      const more = Buffer.isBuffer(body) || typeof body === 'string' ? body.length / SHARE_BYTES : 0;
      if (more < 1 || ctx.method === 'HEAD') return;
      error = this.take(ctx.req, more);
      if (error === undefined) return;
      for (const name of ctx.res.getHeaderNames()) ctx.remove(name);
    }
    ctx.status = error.status;
    ctx.set('retry-after', String(Math.ceil((error.details.retryAfterMs ?? 1000) / 1000)));
    ctx.body = errorBody(error, { plane: Plane.DATA });
  };
}
