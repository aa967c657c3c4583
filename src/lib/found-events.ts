// Events of a stream that were found by their pattern: they stay the bytes that they came as, and what differs between them
// is known by its places. A string for each event would cost more than to find it.

/** What differs between events that have one pattern: the text, a text that says nothing, a number. */
export type Hole = 'text' | 'filling' | 'number';

/** What stands where in events with one pattern. */
export interface Pattern {
  /** The `event:` line that each of them has; undefined: none has one. */
  readonly event: string | undefined;
  /** An event's JSON around its holes: one part more than there are holes. */
  readonly parts: readonly string[];
  /** One of them is the text. */
  readonly holes: readonly Hole[];
}

/** Some events in a row. Their bytes are not changed any more. */
export class FoundEvents {
  readonly holes: readonly Hole[];
  readonly #bytes: Buffer;
  readonly #bounds: readonly number[];
  readonly #from: number;
  readonly #to: number;
  #text: string | undefined;

  /** @param bounds where each hole of each event begins and ends @param from where the first event begins @param to where the last ends */
  constructor(bytes: Buffer, holes: readonly Hole[], bounds: readonly number[], from: number, to: number) {
    this.#bytes = bytes;
    this.holes = holes;
    this.#bounds = bounds;
    this.#from = from;
    this.#to = to;
  }

  get count(): number {
    return this.#bounds.length / (2 * this.holes.length);
  }

  /** Bytes of all of them, with their lines. */
  get length(): number {
    return this.#to - this.#from;
  }

  /** All that they say. */
  get text(): string {
    this.#text ??= this.#joined();
    return this.#text;
  }

  /** Bytes in the holes of this place, of all events. */
  lengthOf(hole: number): number {
    const [bounds, step] = [this.#bounds, 2 * this.holes.length];
    let length = 0;
    for (let at = 2 * hole; at < bounds.length; at += step) length += bounds[at + 1]! - bounds[at]!;
    return length;
  }

  /** What stands in a hole of an event. */
  at(event: number, hole: number): string {
    const place = 2 * (event * this.holes.length + hole);
    return this.#bytes.toString('utf8', this.#bounds[place], this.#bounds[place + 1]);
  }

  /** Copies what stands in a hole of an event. @returns where it ends */
  copy(event: number, hole: number, out: Uint8Array, at: number): number {
    const [bytes, place] = [this.#bytes, 2 * (event * this.holes.length + hole)];
    const end = this.#bounds[place + 1]!;
    let to = at;
    // Most are a few bytes long, and a call costs more than these.
    for (let from = this.#bounds[place]!; from < end; from++) out[to++] = bytes[from]!;
    return to;
  }

  /** Copies all of them, with their lines. @returns where they end */
  copyAll(out: Uint8Array, at: number): number {
    out.set(this.#bytes.subarray(this.#from, this.#to), at);
    return at + this.length;
  }

  #joined(): string {
    const hole = this.holes.indexOf('text');
    const out = Buffer.allocUnsafe(this.lengthOf(hole));
    let at = 0;
    for (let event = 0; event < this.count; event++) at = this.copy(event, hole, out, at);
    return out.toString('utf8');
  }
}
