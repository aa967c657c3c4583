// What keeps the log in shape: one piece of work at a time, and each change of the list of segments made by the writer.
import { fail } from '../../../lib/errors.ts';
import type { WriterCall } from '../protocol.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { SegmentChange } from './manifest.ts';
import type { LogCompactorCall } from './protocol.ts';

/** A block is made and written in well under a second; a busy machine may take its time. */
const SEAL_MS = 60_000;
/** After a failure, before the next try. */
const PAUSE_MS = 5000;

export class LogCompactor {
  readonly #writer: WorkerClient<WriterCall>;
  readonly #worker: WorkerClient<LogCompactorCall>;
  readonly #block: number;
  #queue: Promise<unknown> = Promise.resolve();
  #sealing = false;
  #notBefore = 0;
  #closed = false;

  constructor(writer: WorkerClient<WriterCall>, worker: WorkerClient<LogCompactorCall>, block: number) {
    this.#block = block;
    this.#writer = writer;
    this.#worker = worker;
  }

  /** Takes the number of entries in the tail; seals the excess in the background. */
  noted(entries: number): void {
    if (entries < this.#block || this.#sealing || this.#closed || performance.now() < this.#notBefore) return;
    this.#sealing = true;
    void this.alone(() => this.#sealFull())
      .catch(() => {
        this.#notBefore = performance.now() + PAUSE_MS;
      })
      .finally(() => {
        this.#sealing = false;
      });
  }

  /** Runs when all before it is done. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#queue.then(run);
    this.#queue = mine.catch(() => undefined);
    return mine;
  }

  /** Seals a block; false: there is none. */
  async seal(all: boolean): Promise<boolean> {
    const change = await this.#worker.call<SegmentChange | null>({ kind: 'seal', all }, 0, SEAL_MS);
    if (change === null) return false;
    await this.change(change);
    return true;
  }

  /** Takes over what an earlier version left. */
  takeOver(): Promise<void> {
    return this.alone(async () => {
      for (;;) {
        const change = await this.#worker.call<SegmentChange | null>({ kind: 'takeOver' }, 0, SEAL_MS);
        if (change === null) return;
        await this.change(change);
      }
    });
  }

  /** Throws `store_unavailable` when the store is being closed: running work ends after its next step. */
  async change(change: SegmentChange): Promise<void> {
    if (this.#closed) throw fail('store_unavailable', 'the store is closed');
    await this.#writer.call({ kind: 'segments', change }, 0, SEAL_MS);
  }

  async #sealFull(): Promise<void> {
    while (!this.#closed && (await this.seal(false)));
  }

  /** Waits for the step that is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue;
    await this.#worker.close({ kind: 'close' });
  }
}
