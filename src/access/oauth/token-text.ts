// Codes and tokens as texts: opaque to clients, random, and with a mark by which made-up ones are told apart without a
// look into the store. They name their grant, so that one that was used already is known for what it is.
import { randomBytes } from 'node:crypto';
import { type KeyHasher, sameHash } from '../key-hash.ts';

export type TokenKind = 'access' | 'refresh' | 'code';

/** What a text names. */
export interface GrantName {
  readonly organisationId: string;
  readonly grantId: string;
}

const PREFIXES: Readonly<Record<TokenKind, string>> = { access: 'slo_', refresh: 'slr_', code: 'slc_' };
const FORM = /^sl[orc]_[A-Za-z0-9_-]{86}$/;
const ID = 16;
const RANDOM = 16;
const MARK = 16;

/** @param name ids are UUIDs */
export function newToken(hasher: KeyHasher, kind: TokenKind, { organisationId, grantId }: GrantName): string {
  const body = Buffer.concat([bytesOf(organisationId), bytesOf(grantId), randomBytes(RANDOM)]);
  return PREFIXES[kind] + Buffer.concat([body, markOf(hasher, kind, body)]).toString('base64url');
}

/** Undefined for a text that was not made here for this kind. */
export function readToken(hasher: KeyHasher, kind: TokenKind, text: string): GrantName | undefined {
  if (!text.startsWith(PREFIXES[kind]) || !FORM.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(4), 'base64url');
  const body = bytes.subarray(0, 2 * ID + RANDOM);
  const mark = bytes.subarray(2 * ID + RANDOM);
  if (mark.length !== MARK || !sameHash(mark.toString('hex'), markOf(hasher, kind, body).toString('hex')))
    return undefined;
  // Base64 has spare bits: only the text that was given out counts.
  if (bytes.toString('base64url') !== text.slice(4)) return undefined;
  return { organisationId: uuidOf(body.subarray(0, ID)), grantId: uuidOf(body.subarray(ID, 2 * ID)) };
}

/** Whether a text has the form of a code or token, valid or not: it goes to no provider. */
export function looksLikeGrantToken(text: string): boolean {
  return FORM.test(text);
}

function markOf(hasher: KeyHasher, kind: TokenKind, body: Buffer): Buffer {
  return Buffer.from(hasher.hash(`oauth ${kind} ${body.toString('hex')}`), 'hex').subarray(0, MARK);
}

function bytesOf(uuid: string): Buffer {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  if (bytes.length !== ID) throw new Error('the id is no UUID');
  return bytes;
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
