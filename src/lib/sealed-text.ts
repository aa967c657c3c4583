// Texts that leave the gateway and come back: encrypted and authenticated, so that nothing of them has to be stored.
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;
const FORM = /^[A-Za-z0-9_-]{39,16384}$/;

/** Seals values of one purpose: what was sealed for another one does not open. */
export class SealedText<T extends object> {
  readonly #key: KeyObject;

  /** @param secret 32 bytes, the same for all instances */
  constructor(secret: Uint8Array, purpose: string) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `sealed text: ${purpose}`, 32)));
  }

  /** @returns base64url */
  seal(value: T): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG });
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url');
  }

  /** Undefined for what was not sealed here for this purpose. */
  open(text: string): T | undefined {
    if (!FORM.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    // Base64 has spare bits: only the text that was given out opens.
    if (bytes.toString('base64url') !== text) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE), { authTagLength: TAG });
      decipher.setAuthTag(bytes.subarray(-TAG));
      const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]);
      return JSON.parse(plain.toString()) as T;
    } catch {
      return undefined;
    }
  }
}
