// 64 bits of a text, by which columns compare texts that are many: two of a million texts share them once in tens of
// millions of stores. The seed is each store's own.

/** Hashes texts; `lo` and `hi` hold the last one's. */
export class TextHash {
  readonly #seed: number;
  lo = 0;
  hi = 0;

  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  /** cyrb53's mixing, all 64 bits of it. */
  of(text: string): void {
    let a = 0xdeadbeef ^ this.#seed;
    let b = 0x41c6ce57 ^ Math.imul(this.#seed, 0x9e3779b1);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x9e3779b1);
      b = Math.imul(b ^ unit, 0x5f356495);
    }
    a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
    b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
    this.lo = a >>> 0;
    this.hi = b >>> 0;
  }

  /** 53 bits of it as one number. */
  number(text: string): number {
    this.of(text);
    return (this.hi & 0x1fffff) * 0x100000000 + this.lo;
  }
}
