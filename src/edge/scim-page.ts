// /scim/v2 over HTTP: the token before the body, the body within bounds, answers as application/scim+json.
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { Aborter } from '../lib/abort.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { timeOrderedId } from '../lib/time-ordered-id.ts';
import { isTooHeavy } from '../rest/json-weight.ts';
import { BodyReader } from './read-body.ts';

/** An answer of the protocol. */
export interface ScimReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | undefined;
}

/** A request as it came. */
export interface ScimCall {
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** What answers. */
export interface ScimSurface {
  /** Undefined: the token is not valid. */
  readonly open: (authorization: string | undefined) => Promise<ScimSession | undefined>;
  readonly refusal: (error: GatewayError) => ScimReply;
  /** The client's address. */
  readonly addressOf: (req: IncomingMessage) => string;
  /** Told of a request without a valid token. @returns milliseconds to wait when too many come from the address; else 0 */
  readonly refused: (address: string) => number;
}

export interface ScimSession {
  readonly tokenId: string;
  readonly answer: (call: ScimCall) => Promise<ScimReply>;
}

export interface ScimPageDeps {
  readonly scim: ScimSurface;
  readonly pace: Pace;
  readonly budget: ReadingBudget;
  /** Told of requests with a valid token. */
  readonly prove: (req: IncomingMessage) => void;
  /** Whether no more calls are taken now. */
  readonly full: (control: boolean) => boolean;
}

export const SCIM_BASE = '/scim/v2';
/** Bytes: a group of 10,000 members fits. */
const BODY_LIMIT = 2 * 1024 * 1024;
/** Requests of one token at once. */
const AT_ONCE = 16;

export function scimPage(deps: ScimPageDeps): Middleware {
  const bodies = new BodyReader(deps.pace, deps.budget);
  const underWay = new Map<string, number>();
  return async (ctx) => {
    const address = deps.scim.addressOf(ctx.req);
    try {
      if (deps.full(true))
        throw fail('overloaded', 'the gateway is at its limit of calls', { retryAfterMs: 1000 });
      const session = await deps.scim.open(ctx.get('authorization'));
      if (session === undefined) return refuse(ctx, deps, address);
      deps.prove(ctx.req);
      const count = underWay.get(session.tokenId) ?? 0;
      if (count >= AT_ONCE)
        throw fail('rate_limited', `at most ${AT_ONCE} requests at once`, { retryAfterMs: 1000 });
      underWay.set(session.tokenId, count + 1);
      try {
        const body = await readBody(bodies, ctx, session.tokenId);
        write(ctx, await session.answer(callOf(ctx, address, body)));
      } finally {
        const left = (underWay.get(session.tokenId) ?? 1) - 1;
        if (left === 0) underWay.delete(session.tokenId);
        else underWay.set(session.tokenId, left);
      }
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const { retryAfterMs } = error.details;
      if (retryAfterMs !== undefined) ctx.set('retry-after', String(Math.ceil(retryAfterMs / 1000)));
      write(ctx, deps.scim.refusal(error));
    }
  };
}

function refuse(ctx: Context, { scim }: ScimPageDeps, address: string): void {
  const retryAfterMs = scim.refused(address);
  if (retryAfterMs > 0)
    throw fail('rate_limited', 'too many requests without a valid token come from this address', {
      retryAfterMs: Math.max(1000, retryAfterMs),
    });
  ctx.set('www-authenticate', 'Bearer realm="SCIM"');
  write(ctx, scim.refusal(fail('unauthenticated', 'a SCIM token is needed: Authorization: Bearer sct_…')));
}

function callOf(ctx: Context, address: string, body: unknown): ScimCall {
  return {
    requestId: timeOrderedId(),
    address,
    method: ctx.method,
    path: ctx.path,
    parts: partsOf(ctx.path),
    query: new URLSearchParams(ctx.querystring),
    body,
    ifMatch: ctx.get('if-match') || undefined,
    ifNoneMatch: ctx.get('if-none-match') || undefined,
  };
}

/** @throws GatewayError validation_failed for escapes that are none */
function partsOf(path: string): string[] {
  const below = path.slice(SCIM_BASE.length).replace(/^\/|\/$/g, '');
  try {
    return below === '' ? [] : below.split('/').map(decodeURIComponent);
  } catch {
    throw fail('validation_failed', 'the path has an escape that is none');
  }
}

async function readBody(
  bodies: BodyReader,
  { req, res, method }: Context,
  tokenId: string,
): Promise<unknown> {
  if (method !== 'POST' && method !== 'PUT' && method !== 'PATCH') return undefined;
  const aborter = new Aborter();
  const left = (): void => aborter.abort(fail('client_closed', 'the client has left'));
  res.once('close', left);
  try {
    const bytes = await bodies.read(req, BODY_LIMIT, aborter, tokenId);
    if (bytes.length === 0) return undefined;
    if (await isTooHeavy(bytes)) throw fail('body_too_large', 'the body has too many members');
    return parsed(bytes);
  } finally {
    res.off('close', left);
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    throw fail('malformed_body', 'the body must be valid JSON');
  }
}

function write(ctx: Context, { status, headers, body }: ScimReply): void {
  ctx.status = status;
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  ctx.set('cache-control', 'no-store');
  ctx.set('x-content-type-options', 'nosniff');
  if (body === undefined) {
    ctx.body = null;
    ctx.status = status;
    return;
  }
  ctx.body = JSON.stringify(body);
  ctx.set('content-type', 'application/scim+json; charset=utf-8');
}
