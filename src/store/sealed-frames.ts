// Long bytes, encrypted in frames that can be read and written one after the other: AES-256-GCM with a random nonce for
// each frame. Name, place and whether it is the last are authenticated, so that frames cannot be left out, swapped or cut.
import { type CipherGCM, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fail } from '../lib/errors.ts';

/** Plain bytes of a full frame. */
export const FRAME_BYTES = 512 * 1024;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Length of the ciphertext (32 bits), 1 for the last frame, nonce, tag. */
const HEAD_BYTES = 4 + 1 + NONCE_BYTES + TAG_BYTES;
const MAX_SEALED = 4 * FRAME_BYTES;

/** Where a frame stands. */
export interface FramePlace {
  /** Of the bytes as a whole. */
  readonly name: string;
  /** From 0. */
  readonly index: number;
  readonly last: boolean;
}

/** A frame, open. */
export interface OpenedFrame {
  readonly bytes: Buffer;
  readonly last: boolean;
  /** How many bytes it takes sealed. */
  readonly sealedBytes: number;
}

/** A frame while its bytes come: they are encrypted at once, into memory that all frames of one writer share. */
export class FrameSealer {
  readonly #key: Uint8Array;
  readonly #frame = Buffer.allocUnsafeSlow(HEAD_BYTES + FRAME_BYTES);
  #cipher: CipherGCM | undefined;
  #held = 0;

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Plain bytes in it. */
  get held(): number {
    return this.#held;
  }

  /** Takes as many bytes as fit. @returns how many */
  push(place: FramePlace, bytes: Uint8Array): number {
    const part = bytes.subarray(0, FRAME_BYTES - this.#held);
    const sealed = this.#open(place).update(part);
    sealed.copy(this.#frame, HEAD_BYTES + this.#held);
    this.#held += sealed.length;
    release(sealed);
    return part.length;
  }

  /** The frame as it is stored, until the next bytes come. */
  end(place: FramePlace): Buffer {
    const cipher = this.#open(place);
    cipher.final();
    this.#frame.writeUInt32BE(this.#held, 0);
    this.#frame.writeUInt8(place.last ? 1 : 0, 4);
    cipher.getAuthTag().copy(this.#frame, 5 + NONCE_BYTES);
    const frame = this.#frame.subarray(0, HEAD_BYTES + this.#held);
    this.#cipher = undefined;
    this.#held = 0;
    return frame;
  }

  #open(place: FramePlace): CipherGCM {
    if (this.#cipher !== undefined) return this.#cipher;
    const nonce = randomBytes(NONCE_BYTES);
    nonce.copy(this.#frame, 5);
    this.#cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    this.#cipher.setAAD(placeBytes(place));
    return this.#cipher;
  }
}

/** Gives the memory of a buffer back at once that nothing else can read. */
function release({ buffer, length }: Buffer): void {
  if (buffer.byteLength === length && length > 0) (buffer as ArrayBuffer).transfer(0);
}

/**
 * The frames of stored bytes, in their order. Ends after the last frame; where the bytes end before it, or a frame does
 * not open, it throws.
 * @param torn whether frames may be missing at the end: then it ends there
 * @throws GatewayError store_unavailable
 */
export async function* openFrames(
  key: Uint8Array,
  name: string,
  pieces: AsyncIterable<Uint8Array>,
  torn = false,
): AsyncGenerator<OpenedFrame> {
  let waiting: Uint8Array[] = [];
  let held = 0;
  let needed = HEAD_BYTES;
  let index = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    held += piece.length;
    if (held < needed) continue;
    let bytes =
      waiting.length === 1
        ? Buffer.from(piece.buffer, piece.byteOffset, piece.length)
        : Buffer.concat(waiting);
    for (;;) {
      needed = HEAD_BYTES;
      if (bytes.length < needed) break;
      const length = bytes.readUInt32BE(0);
      if (length > MAX_SEALED) {
        if (torn) return;
        throw damaged();
      }
      needed += length;
      if (bytes.length < needed) break;
      const last = bytes[4] === 1;
      const plain = opened(key, { name, index, last }, bytes.subarray(0, needed));
      if (plain === undefined) {
        if (torn) return;
        throw damaged();
      }
      yield { bytes: plain, last, sealedBytes: needed };
      if (last) return;
      index++;
      bytes = bytes.subarray(needed);
    }
    waiting = bytes.length === 0 ? [] : [bytes];
    held = bytes.length;
  }
  if (!torn) throw damaged();
}

function opened(key: Uint8Array, place: FramePlace, frame: Buffer): Buffer | undefined {
  const nonce = frame.subarray(5, 5 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(frame.subarray(5 + NONCE_BYTES, HEAD_BYTES));
  try {
    const plain = decipher.update(frame.subarray(HEAD_BYTES));
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}

function placeBytes({ name, index, last }: FramePlace): Buffer {
  return Buffer.from(JSON.stringify(['sluice frame v1', name, index, last]));
}

function damaged() {
  return fail('store_unavailable', 'a file is damaged: it is shorter than it was written, or was changed');
}
