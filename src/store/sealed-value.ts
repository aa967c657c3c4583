// One secret as text: AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The text says which key sealed it,
// and the place where it is kept is authenticated with it: moved to another document, tenant or path it does not open.
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A key that seals and opens; its id stands in what it sealed. */
export interface DataKey {
  /** Lower case letters, digits and `_`; 40 at the most. */
  readonly id: string;
  /** 256 bits. */
  readonly key: KeyObject;
}

/** Where a sealed value belongs. */
export interface SealedPlace {
  readonly organisationId: string;
  readonly collection: string;
  readonly documentId: string;
  /** Member by member; of a list's element its number. */
  readonly path: readonly string[];
}

/** A sealed value's text, read. */
export interface Envelope {
  readonly keyId: string;
  /** Nonce, ciphertext and tag. */
  readonly sealed: Buffer;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENVELOPE = /^sealed:v1:([a-z0-9_]{1,40}):([A-Za-z0-9_-]+)$/;

/** @param key 32 bytes */
export function dataKey(id: string, key: Uint8Array): DataKey {
  return { id, key: createSecretKey(key) };
}

/** `sealed:v1:<key id>:<base64url of nonce, ciphertext, tag>`. */
export function seal({ id, key }: DataKey, place: SealedPlace, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(placeBytes(place));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `sealed:v1:${id}:${sealed.toString('base64url')}`;
}

/** Undefined for what is no envelope. */
export function readEnvelope(value: unknown): Envelope | undefined {
  const parts = typeof value === 'string' ? ENVELOPE.exec(value) : null;
  if (parts === null) return undefined;
  const sealed = Buffer.from(parts[2] as string, 'base64url');
  return sealed.length < NONCE_BYTES + TAG_BYTES ? undefined : { keyId: parts[1] as string, sealed };
}

/** The text; undefined when this key did not seal it for this place, or when it was changed since. */
export function open({ key }: DataKey, place: SealedPlace, { sealed }: Envelope): string | undefined {
  const tagAt = sealed.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(placeBytes(place));
    decipher.setAuthTag(sealed.subarray(tagAt));
    const text = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** JSON keeps the parts apart whatever is in them. */
function placeBytes({ organisationId, collection, documentId, path }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify(['sluice sealed v1', organisationId, collection, documentId, ...path]));
}
