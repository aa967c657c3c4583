// A sign-in under way: what the browser keeps until it comes back, in a cookie that the gateway signs.
import { type KeyHasher, sameHash } from '../key-hash.ts';

/** Between the beginning of a sign-in and its end. */
export const SIGN_IN_MS = 600_000;

export interface SignInTransaction {
  readonly organisationId: string;
  /** The identity provider that answers. */
  readonly providerId: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A path of the console. */
  readonly returnTo: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** Of a path that a sign-in leads back to, in characters. */
const MOST_RETURN = 1500;
/** Pages of a sign-in and its end. */
const NO_RETURN = /^\/console\/(?:sign-in\/|callback|signed-out|backchannel-logout)/;
const PURPOSE = 'sign-in ';

/** The cookie's value. */
export function sealTransaction(hasher: KeyHasher, transaction: SignInTransaction): string {
  const text = Buffer.from(JSON.stringify(transaction)).toString('base64url');
  return `${text}.${hasher.hash(PURPOSE + text)}`;
}

/** Undefined for a value that the gateway did not make, and for one that is too old. */
export function openTransaction(
  hasher: KeyHasher,
  value: string,
  now: number,
): SignInTransaction | undefined {
  const [text = '', mark = ''] = value.split('.');
  if (value.length > 3000 || !sameHash(mark, hasher.hash(PURPOSE + text))) return undefined;
  const found = JSON.parse(Buffer.from(text, 'base64url').toString()) as SignInTransaction;
  return found.expiresAt > now ? found : undefined;
}

/**
 * A path of this console, or a page of OAuth that a person signs in for; any other address, also `//elsewhere` and
 * `/\elsewhere`, leads to the console's first page.
 */
export function ownPath(given: string | undefined): string {
  const isOwn =
    given !== undefined &&
    given.length <= MOST_RETURN &&
    /^\/(?:console(?:[/?#]|$)|oauth\/(?:authorize|connect)(?:[/?]|$))[\x21-\x5b\x5d-\x7e]*$/.test(given) &&
    // As a browser reads it: no `..`, however it is written, leads out.
    new URL(given, 'http://own.invalid').pathname === given.split(/[?#]/, 1)[0];
  return isOwn && !NO_RETURN.test(given) ? given : '/console';
}
