// Runs: events of a stream that follow each other and differ in nothing but a text. Models answer in hundreds of them, and
// an object and a promise for each would cost more than the event. Who does not know of runs reads their events one by one.

/** Some such events. @template T one event */
export abstract class Run<T> {
  abstract readonly count: number;
  /** All that they say. */
  abstract readonly text: string;
  /** The JSON of one of them. */
  abstract jsonOf(place: number): string;
  /** One of them. */
  abstract at(place: number): T;
  /** One event that says what all of them say. */
  abstract joined(): T;
  /** Bytes that `write` needs at the most. @param named whether each event has its `event:` line */
  abstract room(named: boolean): number;
  /** Writes all of them as server-sent events. @returns where they end */
  abstract write(named: boolean, out: Uint8Array, at: number): number;
}

/** A stream that is read in what is at hand, not in promises of one event each. */
export interface Batched<T> {
  /** Resolves when there is something to take; false: the stream has ended. @throws what ended it */
  more(): Promise<boolean>;
  /** What is at hand; undefined: ask `more`. */
  take(): T | Run<T> | undefined;
  /** The reader leaves. */
  return?(): Promise<unknown>;
}

/** A stream that is read either way. Subclasses say how it is read in what is at hand. */
export abstract class BatchedIterator<T> implements Batched<T>, AsyncIterableIterator<T, undefined> {
  #run: Run<T> | undefined;
  #place = 0;

  abstract more(): Promise<boolean>;
  abstract take(): T | Run<T> | undefined;
  abstract return(): Promise<IteratorResult<T, undefined>>;

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Events of a run are made one by one. */
  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#run === undefined) {
      const item = this.take() ?? ((await this.more()) ? this.take() : undefined);
      if (item === undefined) return { done: true, value: undefined };
      if (!(item instanceof Run)) return { done: false, value: item };
      this.#run = item;
      this.#place = 0;
    }
    const run = this.#run;
    const value = run.at(this.#place++);
    if (this.#place === run.count) this.#run = undefined;
    return { done: false, value };
  }
}

/** A stream to be read so; one reader reads it in one way alone. */
export function batched<T>(iterator: AsyncIterator<T>): Batched<T> {
  return 'more' in iterator ? (iterator as unknown as Batched<T>) : new OneByOne(iterator);
}

/** A stream that gives one event for each promise. */
class OneByOne<T> implements Batched<T> {
  readonly #iterator: AsyncIterator<T>;
  #next: T | undefined;

  constructor(iterator: AsyncIterator<T>) {
    this.#iterator = iterator;
  }

  async more(): Promise<boolean> {
    const { done, value } = await this.#iterator.next();
    this.#next = value;
    return !done;
  }

  take(): T | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  async return(): Promise<void> {
    await this.#iterator.return?.();
  }
}
