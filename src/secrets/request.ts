// One question to a secret manager, through the egress dialer: bounded in bytes, its wait bounded by the signal.
import type { AbortLike } from '../lib/abort.ts';
import type { Dialer } from '../lib/egress/outbound.ts';
import { GatewayError } from '../lib/errors.ts';
import { urlText } from '../lib/url-text.ts';
import { secretFailure } from './failure.ts';

export interface Question {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Flat pairs. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly signal: AbortLike;
}

/** What a manager answered: 200 to 499, 429 left out. */
export interface Reply {
  readonly status: number;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

const MOST_BYTES = 256 * 1024;

/** @throws GatewayError secret_unavailable (outage) without an answer or for a busy or broken manager, host_refused */
export async function ask(dialer: Pick<Dialer, 'whole'>, question: Question): Promise<Reply> {
  const { method, url, headers, body, signal } = question;
  const request = {
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: ['accept', '*/*', 'user-agent', 'sluice-gateway', ...headers],
    body,
    signal,
  };
  const answer = await dialer.whole(request, MOST_BYTES).catch((error: unknown) => {
    if (error instanceof GatewayError && ['host_refused', 'secret_unavailable'].includes(error.reason))
      throw error;
    throw secretFailure('outage', `the secret manager at ${url.host} does not answer`, error);
  });
  const { status } = answer;
  if (status >= 500 || status === 429)
    throw secretFailure('outage', `the secret manager at ${url.host} answers ${status}`);
  const text = Buffer.from(answer.body).toString('utf8');
  return { status, text, json: parsed(text) };
}

/** A form's body, and the header that goes with it. */
export function form(fields: Readonly<Record<string, string | undefined>>): {
  readonly headers: readonly string[];
  readonly body: string;
} {
  const given = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return {
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body: new URLSearchParams(given).toString(),
  };
}

/** Whether a token endpoint refuses who asks, by its status or in OAuth's words (RFC 6749, part 5.2). */
export function isRefusedGrant({ status, json }: Reply): boolean {
  if (status === 403) return true;
  const refusals = ['invalid_client', 'invalid_grant', 'unauthorized_client', 'access_denied'];
  return (status === 400 || status === 401) && refusals.includes(String(member(json, 'error')));
}

/** A member of a JSON object; undefined when there is none. */
export function member(json: unknown, ...path: readonly string[]): unknown {
  let at = json;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** Segments of a path as they stand in a URL. @throws GatewayError secret_unavailable (invalid) for dots as a segment */
export function pathOf(path: string): string {
  const segments = path.replace(/^\/+|\/+$/g, '').split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    throw secretFailure('invalid', 'secret_path: must be names with single slashes between them');
  return segments.map(urlText).join('/');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
