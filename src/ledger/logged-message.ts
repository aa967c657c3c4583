// How much of a message the log keeps: headers that hold no secret, addresses without keys, bodies up to a length.
import { isUtf8 } from 'node:buffer';
import type { BodyRecord } from '../store/log-store.ts';

/** Longest body that is kept, in bytes; of what is no text. */
const MAX_TEXT = 1024 * 1024;
const MAX_BINARY = 64 * 1024;
const MAX_HEADER = 4096;
const MASK = '***';

/** Headers that are kept as they are; the rest are named and masked. */
const OPEN = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'host',
  'openai-organization',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'server',
  'traceparent',
  'transfer-encoding',
  'user-agent',
  'x-request-id',
]);
/** Parts of names of our own headers that hold secrets. A config may hold a provider's key. */
const SECRET =
  /key|auth|token|jwt|secret|password|passwd|passphrase|pwd|cookie|credential|service.?account|config$|signature|(?:^|[-_.])sig$/i;
const OURS = /^x-(?:gateway|portkey|ratelimit|stainless)-/;

/** Names seen, in their own spelling: callers and providers send the same few all the time. */
const seen = new Map<string, { readonly lower: string; readonly open: boolean }>();
const MOST_SEEN = 1000;

function trait(name: string): { readonly lower: string; readonly open: boolean } {
  let known = seen.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  known = { lower, open: OPEN.has(lower) || (OURS.test(lower) && !SECRET.test(lower)) };
  if (seen.size < MOST_SEEN) seen.set(name, known);
  return known;
}

/** Flat pairs as an object by lower-case name, secrets masked. */
export function loggedHeaders(pairs: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const { lower, open } = trait(pairs[i] as string);
    const value = pairs[i + 1] as string;
    headers[lower] = !open ? MASK : openValue(value);
  }
  return headers;
}

/** A value that may be an address: of a host, say. */
function openValue(value: string): string {
  const plain = /^https?:/i.test(value) ? loggedUrl(value) : value;
  return plain.length > MAX_HEADER ? plain.slice(0, MAX_HEADER) : plain;
}

/** An address without credentials in it. */
export function loggedUrl(url: string): string {
  return withoutUser(url).replaceAll(PAIR, (pair, sign: string, name: string, value?: string) =>
    value !== undefined && SECRET.test(plainName(name)) ? `${sign}${name}=${MASK}` : pair,
  );
}

/** A member of a query or of the fragment after "#"; one without a value is passed over, so that each sign is read once. */
const PAIR = /([?&#])([^=&#]*)(=[^&#]*)?/g;

/** Names may be written with percent signs. */
function plainName(name: string): string {
  return name.includes('%') ? ([...new URLSearchParams(name).keys()][0] ?? name) : name;
}

/** User and password before the host are masked. */
function withoutUser(url: string): string {
  if (!url.includes('@') || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.username === '' && parsed.password === '') return url;
  parsed.username = MASK;
  parsed.password = '';
  return parsed.href;
}

/**
 * A body as text where it is one; else in base64.
 * @param left bytes that followed it
 */
export function loggedBody(
  body: string | Uint8Array | undefined,
  left = 0,
): Pick<BodyRecord, 'body' | 'base64' | 'truncated'> {
  if (body === undefined || body.length === 0) return {};
  const kept = keptBody(body);
  return left === 0 ? kept : { ...kept, truncated: (kept.truncated ?? 0) + left };
}

function keptBody(body: string | Uint8Array): Pick<BodyRecord, 'body' | 'base64' | 'truncated'> {
  if (typeof body === 'string') {
    if (body.length <= MAX_TEXT) return { body };
    return { body: body.slice(0, MAX_TEXT), truncated: body.length - MAX_TEXT };
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (bytes.length <= MAX_TEXT ? isUtf8(bytes) : isUtf8(bytes.subarray(0, endOfText(bytes)))) {
    if (bytes.length <= MAX_TEXT) return { body: bytes.toString('utf8') };
    const end = endOfText(bytes);
    return { body: bytes.toString('utf8', 0, end), truncated: bytes.length - end };
  }
  const kept = Math.min(bytes.length, MAX_BINARY);
  return {
    body: bytes.toString('base64', 0, kept),
    base64: true,
    ...(kept === bytes.length ? {} : { truncated: bytes.length - kept }),
  };
}

/** Where a text may be cut: not within a character. */
function endOfText(bytes: Buffer): number {
  let end = MAX_TEXT;
  while (end > MAX_TEXT - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}
