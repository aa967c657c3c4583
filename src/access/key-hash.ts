// API keys are kept only as keyed hashes: whoever reads the store cannot use what is there.
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** Hashes keys with a secret derived from the encryption key. */
export interface KeyHasher {
  /** 64 hexadecimal digits. */
  hash(key: string): string;
}

/** @param encryptionKey 32 bytes; the hashing secret is derived from it (RFC 5869). */
export function createKeyHasher(encryptionKey: Uint8Array): KeyHasher {
  const pepper = Buffer.from(hkdfSync('sha256', encryptionKey, '', 'sluice api key hash', 32));
  return { hash: (key) => createHmac('sha256', pepper).update(key).digest('hex') };
}

/** A new key: 256 bits of randomness behind a recognisable prefix. */
export function newApiKey(): string {
  return `slk_${randomBytes(32).toString('base64url')}`;
}

/** Whether two hashes are the same, in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
