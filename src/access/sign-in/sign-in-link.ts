// A link that signs a person in: mailed, of one use, for the browser that asked for it. The gateway keeps nothing of it:
// the link is signed, and holds the hash of what the browser keeps in a cookie.
import { hash, randomBytes } from 'node:crypto';
import { type KeyHasher, sameHash } from '../key-hash.ts';

/** How long it works. */
export const LINK_MS = 600_000;

export interface SignInLink {
  readonly id: string;
  readonly organisationId: string;
  /** In lower case. */
  readonly email: string;
  /** A path of the console. */
  readonly returnTo: string;
  /** Of the browser's secret. */
  readonly browser: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

const PURPOSE = 'sign-in link ';

/** What the browser keeps. */
export function newBrowserSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The token of the link's address. @param secret the browser's */
export function sealLink(
  hasher: KeyHasher,
  link: Omit<SignInLink, 'id' | 'browser'>,
  secret: string,
): string {
  const whole: SignInLink = { ...link, id: randomBytes(16).toString('hex'), browser: hash('sha256', secret) };
  const text = Buffer.from(JSON.stringify(whole)).toString('base64url');
  return `${text}.${hasher.hash(PURPOSE + text)}`;
}

/** Undefined for a token that the gateway did not make, that is too old, or that another browser asked for. */
export function openLink(
  hasher: KeyHasher,
  token: string,
  secret: string | undefined,
  now: number,
): SignInLink | undefined {
  const [text = '', mark = ''] = token.split('.');
  if (token.length > 4000 || secret === undefined || !sameHash(mark, hasher.hash(PURPOSE + text)))
    return undefined;
  const link = JSON.parse(Buffer.from(text, 'base64url').toString()) as SignInLink;
  return link.expiresAt > now && sameHash(link.browser, hash('sha256', secret)) ? link : undefined;
}
