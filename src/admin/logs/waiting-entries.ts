// Entries that wait for one caller who reads along, each once.
import type { RequestRecord } from '../../call/record.ts';

/** Entries that wait for a slow caller, besides those from before. */
const MOST_WAITING = 1000;
/** Entries of one message. */
const MOST_AT_ONCE = 500;
/** Entries are told together. */
const TOGETHER_MS = 100;
/** Ids of a generation: those of two are known, so that an entry of the last minute is told once. */
const GENERATION = 50_000;

export class WaitingEntries {
  readonly began = Date.now();
  #told = new Set<string>();
  #toldBefore = new Set<string>();
  /** From before the caller came, oldest first. */
  #earlier: readonly RequestRecord[] = [];
  #queue: RequestRecord[] = [];
  #skipped = 0;
  #wake: (() => void) | undefined;
  readonly wake = (): void => this.#wake?.();

  isOver = false;

  /** The gateway stops. */
  close(): void {
    this.isOver = true;
    this.wake();
  }

  /** Whether it was told, or waits to be. */
  knows(id: string): boolean {
    return this.#told.has(id) || this.#toldBefore.has(id);
  }

  /** Unless it is known. The oldest gives way where too many wait, and counts as skipped. */
  put(entry: RequestRecord): void {
    if (!this.#isNew(entry.id)) return;
    if (this.#queue.length >= MOST_WAITING) {
      this.#queue.shift();
      this.#skipped++;
    }
    this.#queue.push(entry);
    this.wake();
  }

  /** Entries that were there already, oldest first. */
  earlier(entries: readonly RequestRecord[]): void {
    this.#earlier = [...this.#earlier, ...entries.filter(({ id }) => this.#isNew(id))];
  }

  /** Counts entries that are not told. */
  skip(count: number): void {
    this.#skipped += count;
  }

  /** The next ones, and how many were skipped before them. */
  take(): { readonly entries: readonly RequestRecord[]; readonly skipped: number } {
    const entries = this.#earlier.slice(0, MOST_AT_ONCE);
    this.#earlier = this.#earlier.slice(MOST_AT_ONCE);
    entries.push(...this.#queue.splice(0, MOST_AT_ONCE - entries.length));
    const skipped = this.#skipped;
    this.#skipped = 0;
    return { entries, skipped };
  }

  /**
   * Resolves a moment after there is an entry, at once when the caller leaves or entries from before are left, and after a
   * time in any case.
   */
  async more(ms: number): Promise<void> {
    if (this.#earlier.length > 0) return this.#woken(0);
    if (this.#queue.length === 0) await this.#woken(ms);
    await this.#woken(TOGETHER_MS, true);
  }

  #woken(ms: number, quiet = false): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      if (!quiet) this.#wake = done;
    });
  }

  #isNew(id: string): boolean {
    if (this.knows(id)) return false;
    if (this.#told.size >= GENERATION) {
      this.#toldBefore = this.#told;
      this.#told = new Set();
    }
    this.#told.add(id);
    return true;
  }
}
