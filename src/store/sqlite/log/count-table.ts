// How often whole numbers from 0 were counted, in two typed arrays.

export class CountTable {
  #keys = new Float64Array(4096).fill(-1);
  #counts = new Float64Array(4096);
  #size = 0;

  add(key: number, count: number): void {
    let at = this.#find(key);
    if (this.#keys[at] !== key) {
      if (++this.#size * 2 > this.#keys.length) {
        this.#grow();
        at = this.#find(key);
      }
      this.#keys[at] = key;
    }
    this.#counts[at] = (this.#counts[at] as number) + count;
  }

  forEach(each: (key: number, count: number) => void): void {
    for (let at = 0; at < this.#keys.length; at++) {
      if ((this.#keys[at] as number) >= 0) each(this.#keys[at] as number, this.#counts[at] as number);
    }
  }

  #find(key: number): number {
    const mask = this.#keys.length - 1;
    // No hash: what is counted together has keys side by side, and stays side by side in memory.
    let at = key & mask;
    while ((this.#keys[at] as number) !== key && (this.#keys[at] as number) >= 0) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const [keys, counts] = [this.#keys, this.#counts];
    this.#keys = new Float64Array(keys.length * 2).fill(-1);
    this.#counts = new Float64Array(keys.length * 2);
    for (let i = 0; i < keys.length; i++) {
      if ((keys[i] as number) < 0) continue;
      const at = this.#find(keys[i] as number);
      this.#keys[at] = keys[i] as number;
      this.#counts[at] = counts[i] as number;
    }
  }
}
