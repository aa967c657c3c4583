// Numbers, texts and histograms one after another, as few bytes as they need.

/** A larger number, one with a fraction or a negative one is kept as a double. */
const LARGEST = 2 ** 51;

export class Bytes {
  #buffer = Buffer.allocUnsafe(4096);
  #length = 0;

  /** A whole number to `LARGEST` doubled, seven bits a byte; any other one after the number 1, as a double. */
  number(value: number): void {
    this.#reserve(12);
    if (!Number.isInteger(value) || value < 0 || value > LARGEST) {
      this.#buffer[this.#length++] = 1;
      this.#length = this.#buffer.writeDoubleLE(value, this.#length);
      return;
    }
    let left = value * 2;
    while (left >= 128) {
      this.#buffer[this.#length++] = (left % 128) + 128;
      left = Math.floor(left / 128);
    }
    this.#buffer[this.#length++] = left;
  }

  text(value: string): void {
    const bytes = Buffer.from(value);
    this.number(bytes.length);
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  /** Pairs of bucket and count. */
  histogram(counts: ReadonlyMap<number, number>): void {
    this.number(counts.size);
    let last = 0;
    for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
      this.number(bucket - last);
      this.number(counts.get(bucket) as number);
      last = bucket;
    }
  }

  all(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

export class Reader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  }

  number(): number {
    let byte = this.#next();
    if (byte === 1) {
      const value = this.#data.readDoubleLE(this.#at);
      this.#at += 8;
      return value;
    }
    let value = byte % 128;
    for (let weight = 128; byte >= 128; weight *= 128) {
      byte = this.#next();
      value += (byte % 128) * weight;
    }
    return value / 2;
  }

  text(): string {
    const length = this.number();
    this.#at += length;
    return this.#data.toString('utf8', this.#at - length, this.#at);
  }

  /** @param wanted false: it is skipped */
  histogram(wanted = true): Map<number, number> {
    const counts = new Map<number, number>();
    let bucket = 0;
    for (let left = this.number(); left > 0; left--) {
      bucket += this.number();
      const count = this.number();
      if (wanted) counts.set(bucket, count);
    }
    return counts;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#data.length;
  }

  #next(): number {
    const byte = this.#data[this.#at++];
    if (byte === undefined) throw new Error('stored roll-ups are cut off');
    return byte;
  }
}
