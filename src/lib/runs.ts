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
  /** All of them as server-sent events. @param named whether each has its `event:` line */
  abstract framed(named: boolean): string;
}

/** What the events of a run have in common. */
export interface RunShape<T> {
  /** The event's type, where it has one. */
  readonly type: string | undefined;
  /** The JSON before the text. Of numbered events: before the number. */
  readonly before: string;
  /** Of numbered events: the JSON between the number and the text. */
  readonly between?: string;
  /** The JSON after the text. */
  readonly after: string;
  /** An event of its JSON. */
  readonly read: (json: string) => T;
}

/** Events of one shape. */
export class ShapedRun<T> extends Run<T> {
  readonly #shape: RunShape<T>;
  readonly #texts: readonly string[];
  readonly #first: number;

  /** @param texts as they stand in JSON: nothing in them is escaped @param first the number of the first one */
  constructor(shape: RunShape<T>, texts: readonly string[], first = 0) {
    super();
    this.#shape = shape;
    this.#texts = texts;
    this.#first = first;
  }

  get count(): number {
    return this.#texts.length;
  }

  get text(): string {
    return this.#texts.join('');
  }

  jsonOf(place: number): string {
    return this.#json(this.#texts[place]!, this.#first + place);
  }

  at(place: number): T {
    return this.#shape.read(this.jsonOf(place));
  }

  joined(): T {
    return this.#shape.read(this.#json(this.text, this.#first));
  }

  framed(named: boolean): string {
    const { type = 'message', before, between, after } = this.#shape;
    const lead = `${named ? `event: ${type}\n` : ''}data: ${before}`;
    const end = `${after}\n\n`;
    let out = '';
    let number = this.#first;
    if (between === undefined) for (const text of this.#texts) out += lead + text + end;
    else for (const text of this.#texts) out += lead + number++ + between + text + end;
    return out;
  }

  #json(text: string, number: number): string {
    const { before, between, after } = this.#shape;
    return between === undefined ? before + text + after : before + number + between + text + after;
  }
}

/** Events without names that are passed on as they came. */
export class RelayedRun<T> extends Run<T> {
  readonly #source: string;
  readonly #texts: readonly string[];
  readonly #read: (json: string) => T;
  readonly #around: readonly [string, string];
  #jsons: readonly string[] | undefined;

  /** @param source their lines: `data: ` and JSON, each with its blank line @param around the JSON around a text */
  constructor(
    source: string,
    texts: readonly string[],
    read: (json: string) => T,
    around: readonly [before: string, after: string],
  ) {
    super();
    this.#source = source;
    this.#texts = texts;
    this.#read = read;
    this.#around = around;
  }

  get count(): number {
    return this.#texts.length;
  }

  get text(): string {
    return this.#texts.join('');
  }

  jsonOf(place: number): string {
    this.#jsons ??= this.#source.slice('data: '.length, -2).split('\n\ndata: ');
    return this.#jsons[place]!;
  }

  at(place: number): T {
    return this.#read(this.jsonOf(place));
  }

  joined(): T {
    return this.#read(this.#around.join(this.text));
  }

  framed(named: boolean): string {
    return named ? this.#source.replaceAll(/^data: /gm, 'event: message\ndata: ') : this.#source;
  }
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
