// Events of one shape: the JSON around what differs between them stands once, and is copied for each.
import type { FoundEvents, Pattern } from './found-events.ts';
import { Run } from './runs.ts';

/** In the place of a hole: the event's own number. */
export const NUMBER = -1;

/** The parts of a shape as bytes, with the lines of events. */
interface Template {
  readonly first: Uint8Array;
  readonly inner: readonly Uint8Array[];
  /** The end of an event and the beginning of the next. */
  readonly joint: Uint8Array;
  readonly last: Uint8Array;
  /** Bytes of an event without what is filled in. */
  readonly length: number;
}

/** What the events of a run have in common. */
export class RunShape<T> {
  /** The event's type, where it has one. */
  readonly type: string | undefined;
  /** The JSON around what is filled in: one part more than there is of that. */
  readonly parts: readonly string[];
  /** What is filled in: holes of the events that were found, by their places, or NUMBER. */
  readonly fills: readonly number[];
  /** An event of its JSON. */
  readonly read: (json: string) => T;
  #plain: Template | undefined;
  #named: Template | undefined;

  constructor(
    type: string | undefined,
    parts: readonly string[],
    fills: readonly number[],
    read: (json: string) => T,
  ) {
    this.type = type;
    this.parts = parts;
    this.fills = fills;
    this.read = read;
  }

  /** Of events that stay as they came. */
  static same<T>({ event, parts, holes }: Pattern, read: (json: string) => T): RunShape<T> {
    const fills = holes.map((_, place) => place);
    return new RunShape(event, parts, fills, read);
  }

  template(named: boolean): Template {
    if (named) {
      this.#named ??= this.#template(`event: ${this.type ?? 'message'}\n`);
      return this.#named;
    }
    this.#plain ??= this.#template('');
    return this.#plain;
  }

  #template(line: string): Template {
    const { parts } = this;
    const inner = parts.slice(1, -1).map((part) => Buffer.from(part));
    const first = Buffer.from(`${line}data: ${parts[0]}`);
    const last = Buffer.from(`${parts.at(-1)}\n\n`);
    const length = inner.reduce((sum, part) => sum + part.length, first.length + last.length);
    return { first, inner, joint: Buffer.concat([last, first]), last, length };
  }
}

/** Events that were found, in one shape. */
export class ShapedRun<T> extends Run<T> {
  readonly #shape: RunShape<T>;
  readonly #found: FoundEvents;
  readonly #first: number;
  readonly #isSource: boolean;

  /**
   * @param first the number of the first one
   * @param isSource whether the shape is that of the events as they came: then their lines are written as they are
   */
  constructor(shape: RunShape<T>, found: FoundEvents, first = 0, isSource = false) {
    super();
    this.#shape = shape;
    this.#found = found;
    this.#first = first;
    this.#isSource = isSource;
  }

  get count(): number {
    return this.#found.count;
  }

  get text(): string {
    return this.#found.text;
  }

  jsonOf(place: number): string {
    return this.#json((fill) =>
      fill === NUMBER ? String(this.#first + place) : this.#found.at(place, fill),
    );
  }

  at(place: number): T {
    return this.#shape.read(this.jsonOf(place));
  }

  joined(): T {
    const { holes } = this.#found;
    const json = this.#json((fill) => {
      if (fill === NUMBER) return String(this.#first);
      return holes[fill] === 'text' ? this.text : this.#found.at(0, fill);
    });
    return this.#shape.read(json);
  }

  room(named: boolean): number {
    if (this.#isAsItCame(named)) return this.#found.length;
    const { count } = this;
    let room = count * this.#shape.template(named).length;
    for (const fill of this.#shape.fills)
      room += fill === NUMBER ? count * digitsOf(this.#first + count) : this.#found.lengthOf(fill);
    return room;
  }

  write(named: boolean, out: Uint8Array, at: number): number {
    const found = this.#found;
    if (this.#isAsItCame(named)) return found.copyAll(out, at);
    const { fills } = this.#shape;
    const { first, inner, joint, last } = this.#shape.template(named);
    const { count } = found;
    let to = put(first, out, at);
    for (let place = 0; place < count; place++) {
      if (place > 0) to = put(joint, out, to);
      for (let i = 0; i < fills.length; i++) {
        if (i > 0) to = put(inner[i - 1]!, out, to);
        const fill = fills[i]!;
        to = fill === NUMBER ? putNumber(this.#first + place, out, to) : found.copy(place, fill, out, to);
      }
    }
    return put(last, out, to);
  }

  #isAsItCame(named: boolean): boolean {
    return this.#isSource && named === (this.#shape.type !== undefined);
  }

  #json(filled: (fill: number) => string): string {
    const { parts, fills } = this.#shape;
    return fills.reduce((json, fill, i) => json + filled(fill) + parts[i + 1]!, parts[0]!);
  }
}

function put(part: Uint8Array, out: Uint8Array, at: number): number {
  out.set(part, at);
  return at + part.length;
}

function digitsOf(number: number): number {
  let digits = 1;
  for (let left = number; left >= 10; left /= 10) digits++;
  return digits;
}

function putNumber(number: number, out: Uint8Array, at: number): number {
  const end = at + digitsOf(number);
  let left = number;
  for (let place = end - 1; place >= at; place--) {
    out[place] = 48 + (left % 10);
    left = Math.floor(left / 10);
  }
  return end;
}
