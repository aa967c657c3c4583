// One bound over all bytes of request bodies that are being read: of the process, and of each key.
import { fail } from '../errors.ts';

/** Bytes that callers without a key may have under way, all together: for the few operations that need none. */
const STRANGERS_BYTES = 4 * 1024 * 1024;

export interface ReadingBudgetOptions {
  /** Most bytes of the process. */
  readonly totalBytes: number;
  /** Most bytes of one key. */
  readonly keyBytes: number;
}

/** What one body holds of the budget. */
export interface Reading {
  /** Sets the bytes that the body holds. @throws GatewayError overloaded when that is over a bound; then nothing changes. */
  hold(bytes: number): void;
  /** The body has been read, or given up. */
  release(): void;
}

/** Counts the bytes. */
export class ReadingBudget {
  readonly #options: ReadingBudgetOptions;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(options: ReadingBudgetOptions) {
    this.#options = options;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#total;
  }

  /** @param keyId undefined: a caller without a key */
  open(keyId: string | undefined): Reading {
    const key = keyId ?? '';
    let held = 0;
    return {
      hold: (bytes) => {
        if (bytes > held) this.#check(key, keyId === undefined, bytes - held);
        this.#add(key, bytes - held);
        held = bytes;
      },
      release: () => {
        if (held !== 0) this.#add(key, -held);
        held = 0;
      },
    };
  }

  #check(key: string, stranger: boolean, more: number): void {
    const { totalBytes, keyBytes } = this.#options;
    const most = stranger ? Math.min(keyBytes, STRANGERS_BYTES) : keyBytes;
    if (this.#total + more > totalBytes)
      throw fail('overloaded', 'the gateway reads as many bytes of request bodies as it may at once', {
        retryAfterMs: 1000,
      });
    if ((this.#byKey.get(key) ?? 0) + more > most)
      throw fail(
        'overloaded',
        `more than ${most} bytes of request bodies of ${stranger ? 'callers without a key' : 'this key'} are being read`,
        {
          retryAfterMs: 1000,
        },
      );
  }

  #add(key: string, bytes: number): void {
    this.#total += bytes;
    const left = (this.#byKey.get(key) ?? 0) + bytes;
    if (left === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, left);
  }
}
