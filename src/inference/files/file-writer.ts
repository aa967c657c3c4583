// Writes one file into the blob store, frame by frame: one frame is in memory.
import type { BlobStore } from '../../store/blobs.ts';
import { FRAME_BYTES, type FramePlace, FrameSealer, openFrames } from '../../store/sealed-frames.ts';

/** Writes from the front to the end. */
export class FileWriter {
  readonly #blobs: BlobStore;
  readonly #name: string;
  readonly #key: Uint8Array;
  #sealer: FrameSealer | undefined;
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
    this.#sealer ??= new FrameSealer(this.#key);
    for (let at = 0; at < bytes.length; ) {
      at += this.#sealer.push(this.#place(false), bytes.subarray(at));
      if (this.#sealer.held === FRAME_BYTES) await this.flush();
    }
  }

  /** Writes what waits as a frame of its own: it survives a kill when the promise resolves. */
  async flush(): Promise<void> {
    if (this.#sealer !== undefined && this.#sealer.held > 0) await this.#write(this.#sealer, false);
  }

  /** Writes the last frame, which is empty: what waits was begun as another one. */
  async end(): Promise<void> {
    await this.flush();
    this.#sealer ??= new FrameSealer(this.#key);
    await this.#write(this.#sealer, true);
  }

  async #write(sealer: FrameSealer, last: boolean): Promise<void> {
    const frame = sealer.end(this.#place(last));
    await this.#blobs.write(this.#name, this.stored, frame);
    this.#index++;
    this.stored += frame.length;
  }

  #place(last: boolean): FramePlace {
    return { name: this.#name, index: this.#index, last };
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
