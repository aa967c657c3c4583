// Long bytes, encrypted in frames that can be read and written one after the other: AES-256-GCM with a random nonce for
// each frame. Name, place and whether it is the last are authenticated, so that frames cannot be left out, swapped or cut.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
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

/** One frame as it is stored. @param key 32 bytes */
export function sealFrame(key: Uint8Array, place: FramePlace, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(placeBytes(place));
  const sealed = cipher.update(bytes);
  cipher.final();
  const frame = Buffer.allocUnsafe(HEAD_BYTES + sealed.length);
  frame.writeUInt32BE(sealed.length, 0);
  frame.writeUInt8(place.last ? 1 : 0, 4);
  nonce.copy(frame, 5);
  cipher.getAuthTag().copy(frame, 5 + NONCE_BYTES);
  sealed.copy(frame, HEAD_BYTES);
  return frame;
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
