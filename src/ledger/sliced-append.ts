// Appends to a log store that may be slow: in smaller slices when it does not answer in time, in larger ones again
// when it does. Otherwise a batch that takes longer than its deadline would be retried for ever.
import type { RequestLogStore, WrittenEntry } from '../store/request-log.ts';
import { isAway } from './limits/retry-queue.ts';

/** Entries of the smallest slice. */
const LEAST = 25;

/** A failed append is repeated: it need not be all or nothing. */
const APART = { apart: true };

export class SlicedAppend {
  readonly #store: Pick<RequestLogStore, 'append'>;
  readonly #largest: number;
  #now: number;

  /** @param largest entries of one append */
  constructor(store: Pick<RequestLogStore, 'append'>, largest: number) {
    this.#store = store;
    this.#largest = largest;
    this.#now = largest;
  }

  /**
   * Appends in order. @param onStored called with each stored slice: its entries need not be appended again
   * @param texts of entries by their place, where both are available
   * @throws what the store throws; then nothing from that entry on is stored
   */
  async append(
    entries: readonly WrittenEntry[],
    onStored: (count: number) => void = () => {},
    texts: readonly (string | undefined)[] = [],
  ): Promise<void> {
    for (let at = 0; at < entries.length; ) {
      const slice = entries.slice(at, at + this.#now);
      try {
        await this.#store.append(slice, texts.slice(at, at + slice.length), APART);
      } catch (error) {
        if (isAway(error)) this.#now = Math.max(Math.min(LEAST, this.#largest), Math.ceil(this.#now / 2));
        throw error;
      }
      at += slice.length;
      onStored(slice.length);
      this.#now = Math.min(this.#largest, this.#now * 2);
    }
  }
}
