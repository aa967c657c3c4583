// API keys are kept only as keyed hashes: whoever reads the store cannot use what is there.
import { hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** Hashes keys with a secret derived from the encryption key. */
export interface KeyHasher {
  /** 64 hexadecimal digits. */
  hash(key: string): string;
}

/** @param encryptionKey 32 bytes; the hashing secret is derived from it (RFC 5869). */
export function createKeyHasher(encryptionKey: Uint8Array): KeyHasher {
  const pepper = Buffer.from(hkdfSync('sha256', encryptionKey, '', 'sluice api key hash', 32));
  return { hash: hmacSha256(pepper) };
}

/**
 * HMAC-SHA-256 (RFC 2104) over the one-shot hash: node's Hmac objects cost ten times as
 * much, and this runs on every call.
 */
export function hmacSha256(secret: Uint8Array): (text: string) => string {
  const block = 64;
  const inner = pad(secret, block, 0x36);
  const outer = pad(secret, block, 0x5c);
  return (text) => {
    const digest = hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer');
    return hash('sha256', Buffer.concat([outer, digest]), 'hex');
  };
}

function pad(secret: Uint8Array, block: number, byte: number): Buffer {
  const padded = Buffer.alloc(block, byte);
  for (const [i, value] of secret.entries()) padded[i] = value ^ byte;
  return padded;
}

/** A new key: 256 bits of randomness behind a recognisable prefix. */
export function newApiKey(): string {
  return `slk_${randomBytes(32).toString('base64url')}`;
}

/** What may be shown and kept of a key in the clear: its first four characters and its length. */
export function keyHint(key: string): string {
  return `${key.slice(0, 4)}:${key.length}`;
}

/** Whether two hashes are the same, in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
