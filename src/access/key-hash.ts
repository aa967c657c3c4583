// API keys are kept only as keyed hashes: a reader of the store cannot use them.
import { hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** Hashes keys with a secret derived from the encryption key. */
export interface KeyHasher {
  /** 64 hexadecimal digits. */
  hash(key: string): string;
}

/** @param encryptionKey 32 bytes; the hashing secret is derived from it (RFC 5869). */
export function createKeyHasher(encryptionKey: Uint8Array): KeyHasher {
  return keyHasherOf(hashSecretOf(encryptionKey));
}

/** @param secret 32 bytes, for as long as hashes made with it shall count */
export function keyHasherOf(secret: Uint8Array): KeyHasher {
  return { hash: hmacSha256(secret) };
}

/** The hashing secret that an encryption key stands for. */
export function hashSecretOf(encryptionKey: Uint8Array): Uint8Array {
  return Buffer.from(hkdfSync('sha256', encryptionKey, '', 'sluice api key hash', 32));
}

/** No key of this gateway is longer; what is gets an empty hash, which no key has. */
const LONGEST_KEY_BYTES = 4096;

/**
 * HMAC-SHA-256 (RFC 2104) over the one-shot hash: node's Hmac objects cost ten times as
 * much, and this runs on every call.
 */
export function hmacSha256(secret: Uint8Array): (text: string) => string {
  const block = 64;
  // Both inputs begin with the padded secret; only what follows is written anew.
  const inner = Buffer.concat([pad(secret, block, 0x36), Buffer.alloc(LONGEST_KEY_BYTES)]);
  const outer = Buffer.concat([pad(secret, block, 0x5c), Buffer.alloc(32)]);
  return (text) => {
    if (Buffer.byteLength(text) > LONGEST_KEY_BYTES) return '';
    const length = block + inner.write(text, block);
    outer.set(hash('sha256', inner.subarray(0, length), 'buffer'), block);
    return hash('sha256', outer, 'hex');
  };
}

function pad(secret: Uint8Array, block: number, byte: number): Buffer {
  const padded = Buffer.alloc(block, byte);
  for (const [i, value] of secret.entries()) padded[i] = value ^ byte;
  return padded;
}

/** A new key: a recognisable prefix and 256 bits of randomness. */
export function newApiKey(): string {
  return `slk_${randomBytes(32).toString('base64url')}`;
}

/** What may be shown and kept of a key in the clear: its first four characters and its length. */
export function keyHint(key: string): string {
  return `${key.slice(0, 4)}:${key.length}`;
}

/** A key as it is shown: its first two and last three characters. Too short a text is shown as nothing but stars. */
export function keyMask(key: string): string {
  return key.length < 12 ? '*****' : `${key.slice(0, 2)}*****${key.slice(-3)}`;
}

/** Whether two hashes are the same, in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
