// Numbers for whole numbers, from 0 as they come: in typed arrays, where a Map of a hundred thousand takes five times the
// memory and as much more time.

export class NumberTable {
  #keys = new Float64Array(1024);
  /** The number of the key at the same place, plus one; 0: free. */
  #numbers = new Int32Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of a whole number from 0. */
  of(key: number): number {
    const found = this.#find(key);
    const number = this.#numbers[found] as number;
    if (number > 0) return number - 1;
    this.#keys[found] = key;
    this.#numbers[found] = ++this.#size;
    if (this.#size * 2 > this.#keys.length) this.#grow();
    return this.#size - 1;
  }

  /** Where a key is, or has room. */
  #find(key: number): number {
    const mask = this.#keys.length - 1;
    // Multiplied by the golden ratio keys that lie together do not stay so.
    const mixed = Math.imul((key % 0x100000000) ^ Math.floor(key / 0x100000000), 0x9e3779b1);
    let at = (mixed ^ (mixed >>> 15)) & mask;
    while (this.#numbers[at] !== 0 && this.#keys[at] !== key) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const [keys, numbers] = [this.#keys, this.#numbers];
    this.#keys = new Float64Array(keys.length * 2);
    this.#numbers = new Int32Array(keys.length * 2);
    for (let i = 0; i < keys.length; i++) {
      if (numbers[i] === 0) continue;
      const at = this.#find(keys[i] as number);
      this.#keys[at] = keys[i] as number;
      this.#numbers[at] = numbers[i] as number;
    }
  }
}
