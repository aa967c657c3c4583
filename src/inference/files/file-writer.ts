// Writes one file into the blob store, frame by frame: at most two frames are in memory.
import type { BlobStore } from '../../store/blobs.ts';
import { FRAME_BYTES, openFrames, sealFrame } from '../../store/sealed-frames.ts';

/** Writes from the front to the end. */
export class FileWriter {
  readonly #blobs: BlobStore;
  readonly #name: string;
  readonly #key: Uint8Array;
  #waiting: Uint8Array[] = [];
  #held = 0;
  #index = 0;
  /** Plain bytes that were given. */
  bytes = 0;
  /** Bytes of the frames that are written. */
  stored = 0;

  /** @param key 32 bytes */
  constructor(blobs: BlobStore, name: string, key: Uint8Array) {
    this.#blobs = blobs;
    this.#name = name;
    this.#key = key;
  }

  /** @throws GatewayError store_unavailable */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.length;
    // A piece may be a view of memory that is used again.
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + FRAME_BYTES - this.#held);
      this.#waiting.push(part);
      this.#held += part.length;
      at += part.length;
      if (this.#held === FRAME_BYTES) await this.flush();
    }
  }

  /** Writes what waits as a frame of its own: it survives a kill when the promise resolves. */
  async flush(last = false): Promise<void> {
    if (this.#held === 0 && !last) return;
    const plain = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#held = 0;
    const frame = sealFrame(this.#key, { name: this.#name, index: this.#index, last }, plain);
    await this.#blobs.write(this.#name, this.stored, frame);
    this.#index++;
    this.stored += frame.length;
  }

  /** Writes the last frame. */
  end(): Promise<void> {
    return this.flush(true);
  }

  /**
   * Goes on where a killed process stopped: frames that were not written whole are written over.
   * @param read given the plain bytes of each frame that is there
   * @returns whether the last frame is there
   */
  async resume(read: (bytes: Buffer) => void): Promise<boolean> {
    const size = await this.#blobs.size(this.#name);
    const pieces = size === 0 ? nothing() : this.#blobs.read(this.#name, size);
    for await (const { bytes, last, sealedBytes } of openFrames(this.#key, this.#name, pieces, true)) {
      read(bytes);
      this.#index++;
      this.bytes += bytes.length;
      this.stored += sealedBytes;
      if (last) return true;
    }
    return false;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
