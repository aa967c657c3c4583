// Where the messages of a gRPC, gRPC-Web or Connect stream begin and end: a flag byte, four bytes of length, the message.

const PREFIX = 5;

/** Follows a stream's bytes without keeping them. */
export class EnvelopeMeter {
  readonly #prefix = Buffer.alloc(PREFIX);
  #prefixBytes = 0;
  /** Bytes of the message that have not come yet. */
  #missing = 0;
  #open = 0;

  /** Bytes of the message that has begun and not ended, its prefix included. */
  get open(): number {
    return this.#open;
  }

  /** @returns `open` */
  push(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.#prefixBytes < PREFIX) {
        const copied = bytes.copy(this.#prefix, this.#prefixBytes, at, at + PREFIX - this.#prefixBytes);
        this.#prefixBytes += copied;
        this.#open += copied;
        at += copied;
        if (this.#prefixBytes < PREFIX) break;
        this.#missing = this.#prefix.readUInt32BE(1);
      }
      const part = Math.min(this.#missing, bytes.length - at);
      this.#missing -= part;
      this.#open += part;
      at += part;
      if (this.#missing > 0) break;
      this.#prefixBytes = 0;
      this.#open = 0;
    }
    return this.#open;
  }
}
