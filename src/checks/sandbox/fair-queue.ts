// A queue in which tenants take turns: whoever queues much waits for himself.

/** Items by tenant, first come first served within one. */
export class FairQueue<T> {
  readonly #lines = new Map<string, T[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  lengthOf(tenant: string): number {
    return this.#lines.get(tenant)?.length ?? 0;
  }

  push(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [item]);
    else line.push(item);
    this.#length++;
  }

  /** The next item; its tenant goes to the end of the round. */
  shift(): T | undefined {
    const next = this.#lines.entries().next();
    if (next.done) return undefined;
    const [tenant, line] = next.value;
    const item = line.shift();
    this.#length--;
    this.#lines.delete(tenant);
    if (line.length > 0) this.#lines.set(tenant, line);
    return item;
  }

  /** Takes an item out, wherever it stands. */
  remove(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    const at = line?.indexOf(item) ?? -1;
    if (line === undefined || at === -1) return;
    line.splice(at, 1);
    this.#length--;
    if (line.length === 0) this.#lines.delete(tenant);
  }
}
