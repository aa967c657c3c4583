// The way back from the identity provider after a sign-out there: the gateway signs what it sent along, and takes no other.
import { randomBytes } from 'node:crypto';
import { type KeyHasher, sameHash } from '../key-hash.ts';

/** Between the sign-out and the way back. */
const SIGN_OUT_MS = 600_000;
const PURPOSE = 'sign-out ';

/** The parameter `state`. */
export function sealSignOut(hasher: KeyHasher, now: number): string {
  const text = `${(now + SIGN_OUT_MS).toString(36)}-${randomBytes(16).toString('hex')}`;
  return `${text}.${hasher.hash(PURPOSE + text)}`;
}

/** Whether the gateway made it, and not too long ago. */
export function isSignOut(hasher: KeyHasher, state: string, now: number): boolean {
  const [text = '', mark = ''] = state.split('.');
  if (state.length > 400 || !sameHash(mark, hasher.hash(PURPOSE + text))) return false;
  return Number.parseInt(text, 36) > now;
}
