// The dialer in the shape of `fetch`, for client libraries that take one: the firewall judges every request, and a
// redirect is an answer like any other.
import { fail } from '../errors.ts';
import type { Dialer } from './outbound.ts';

export interface DialedFetchOptions {
  /** Longest silence before the head arrives, in milliseconds. */
  readonly headTimeoutMs: number;
  /** Longest silence between pieces of a body, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Most bytes of one answer's body. */
  readonly maxBytes: number;
  /** Sent with every request; a header that the library sets itself wins. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends every request. */
  readonly signal?: AbortSignal;
}

/** Statuses whose answers have no body; the constructor of Response insists on it. */
const EMPTY = new Set([101, 103, 204, 205, 304]);

/**
 * @returns a `fetch` that rejects with the dialer's GatewayErrors; bodies of requests are texts or bytes
 */
export function dialedFetch(dialer: Pick<Dialer, 'stream'>, options: DialedFetchOptions): typeof fetch {
  const { headTimeoutMs, idleTimeoutMs, maxBytes, headers: own = {}, signal: all } = options;
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers({ ...own, 'accept-encoding': 'identity' });
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const signals = [all, init.signal].filter((one) => one !== undefined && one !== null);
    const answer = await dialer.stream({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: init.method ?? 'GET',
      headers: [...headers].flat(),
      body: bodyOf(init.body),
      signal: AbortSignal.any(signals),
      headTimeoutMs,
      idleTimeoutMs,
    });
    const isEmpty = EMPTY.has(answer.status);
    const body = isEmpty ? null : ReadableStream.from(bounded(answer.body, maxBytes));
    if (isEmpty) for await (const _ of answer.body);
    return new Response(body, { status: answer.status, headers: fieldsOf(answer.rawHeaders) });
  };
}

function bodyOf(body: RequestInit['body']): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (body instanceof URLSearchParams) return body.toString();
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('only texts and bytes can be sent');
}

async function* bounded(pieces: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) throw fail('upstream_garbage', `the answer is larger than ${maxBytes} bytes`);
    yield piece;
  }
}

function fieldsOf(pairs: readonly string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < pairs.length; i += 2) headers.append(pairs[i]!, pairs[i + 1]!);
  return headers;
}
