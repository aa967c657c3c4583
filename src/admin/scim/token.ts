// Tokens of identity providers.
import { randomBytes } from 'node:crypto';
import { type KeyHasher, keyMask } from '../../access/key-hash.ts';
import { type ScimTokenBody, scimTokens } from '../../access/scim/scim-collections.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';

const FORM = /^sct_[\w-]{43}$/;

/** A new token, and what is stored of it. */
export function newToken(hasher: KeyHasher) {
  const token = `sct_${randomBytes(32).toString('base64url')}`;
  return { token, hash: hasher.hash(token), mask: keyMask(token) };
}

/** The token of an Authorization header; undefined when it is not known, was revoked or has expired. */
export async function tokenOf(
  { documents, hasher, now }: { documents: DocumentStore; hasher: KeyHasher; now: () => number },
  authorization: string | undefined,
): Promise<Document<ScimTokenBody> | undefined> {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined || !FORM.test(token)) return undefined;
  const found = await documents.findByUnique(scimTokens, 'hash', hasher.hash(token));
  const isOver = found?.body.expiresAt !== undefined && found.body.expiresAt <= now();
  return isOver ? undefined : found;
}
