// Redirect URIs: which ones a client may have, and when one that it asks for is one of them.

/** Longest one, in characters. */
export const MOST_REDIRECT_URI = 1024;
/** Schemes that a browser runs, reads from a disk, or speaks in the gateway's own name. */
const NEVER = new Set([
  ...['javascript:', 'data:', 'vbscript:', 'file:', 'filesystem:', 'blob:', 'about:', 'view-source:'],
  ...['ws:', 'wss:', 'ftp:', 'mailto:', 'tel:', 'chrome:', 'jar:'],
]);
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** What is wrong with a redirect URI that a client registers; undefined: nothing. */
export function redirectUriFault(text: string): string | undefined {
  if (text.length > MOST_REDIRECT_URI) return `is longer than ${MOST_REDIRECT_URI} characters`;
  if (!/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return 'is no absolute address';
  if (/[\\<>"`{}|^]/.test(text)) return 'has characters that must be escaped';
  const url = new URL(text);
  if (text.includes('#')) return 'must have no fragment';
  if (url.username !== '' || url.password !== '') return 'must have no credentials in it';
  if (NEVER.has(url.protocol)) return `must not have the scheme ${url.protocol.slice(0, -1)}`;
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
    return 'must begin with https://; http:// is for loopback addresses';
  return undefined;
}

/**
 * Whether a redirect URI is one of the client's: the same text, or of a loopback address the same but for its port
 * (RFC 8252, part 7.3).
 */
export function isRegistered(registered: readonly string[], asked: string): boolean {
  if (registered.includes(asked)) return true;
  const wanted = loopbackParts(asked);
  return wanted !== undefined && registered.some((one) => loopbackParts(one) === wanted);
}

/** Everything but the port, of a plain loopback address that is written as URLs are. */
function loopbackParts(text: string): string | undefined {
  if (redirectUriFault(text) !== undefined) return undefined;
  const url = new URL(text);
  if (url.protocol !== 'http:' || !LOOPBACK.has(url.hostname)) return undefined;
  const port = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(.*)$/.exec(text);
  return port === null ? undefined : `${url.hostname} ${port[2]}`;
}

/** Whether an address leads to a program on the computer of the person who signs in. */
export function isLoopbackUri(text: string): boolean {
  return URL.canParse(text) && LOOPBACK.has(new URL(text).hostname);
}

/** Who gets the answer, in words for people: the host, or the scheme of an application. */
export function redirectHost(text: string): string {
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) ? url.host : url.protocol;
}
