// Streams that anybody may open without a key and that do not end: bounded by connection, by address and in all.

export interface WatchLimits {
  readonly perConnection: number;
  readonly perAddress: number;
  readonly total: number;
}

export const WATCH_LIMITS: WatchLimits = { perConnection: 4, perAddress: 256, total: 1024 };

export class Watches {
  readonly #limits: WatchLimits;
  readonly #byConnection = new WeakMap<object, number>();
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(limits: WatchLimits = WATCH_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Counts one more.
   * @param connection the object that stands for it
   * @returns called once when the stream has ended; undefined: there are too many
   */
  open(connection: object, address: string): (() => void) | undefined {
    const ofConnection = this.#byConnection.get(connection) ?? 0;
    const ofAddress = this.#byAddress.get(address) ?? 0;
    const { perConnection, perAddress, total } = this.#limits;
    if (ofConnection >= perConnection || ofAddress >= perAddress || this.#total >= total) return undefined;
    this.#add(connection, address, 1);
    return () => this.#add(connection, address, -1);
  }

  #add(connection: object, address: string, one: 1 | -1): void {
    this.#total += one;
    this.#byConnection.set(connection, (this.#byConnection.get(connection) ?? 0) + one);
    const ofAddress = (this.#byAddress.get(address) ?? 0) + one;
    if (ofAddress === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, ofAddress);
  }
}
