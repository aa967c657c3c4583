// Looks through a JSON text without reading it, for what makes it expensive to read: items, members, names and nests.

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;

/** What an item of a list, a member's name and a nest cost against each other when they are read and decoded. */
export const ITEM = 1;
const MEMBER = 6;
/** What a name costs in addition when it is the first of its kind: each is kept by the engine, and makes objects slow. */
const NEW_NAME = 18;
const NEST = 4;
/** What an escaped sign of a string costs when it is read and when its string is looked through. */
const ESCAPE = 0.2;

/** One look through one text, in as many steps as the caller likes. */
export class JsonScan {
  readonly #json: Uint8Array;
  readonly #step: number;
  readonly #newName: number;
  readonly #item: number;
  readonly #strings: Strings;
  readonly #names: Names;
  #inString = false;
  /** Of the last string: its first byte, and its closing quote. */
  #from = 0;
  #to = 0;
  /** Bytes that were looked at. */
  at = 0;
  /** What was found so far. */
  weight = 0;

  /**
   * @param step what each byte outside of strings and each escape weighs because the scan looks at it
   * @param newName what a name weighs in addition when it is the first of its kind
   * @param item what an item weighs
   */
  constructor(json: Uint8Array, step = 0, newName = NEW_NAME, item = ITEM) {
    this.#json = json;
    this.#step = step;
    this.#newName = newName;
    this.#item = item;
    this.#strings = new Strings(json);
    this.#names = new Names(json);
  }

  /** Whether the whole text was looked at. */
  get over(): boolean {
    return this.at >= this.#json.length;
  }

  /** Goes on until so many bytes were looked at or so much weight was found. */
  run(bytes: number, most: number): void {
    const json = this.#json;
    const step = this.#step;
    const item = this.#item;
    const end = Math.min(bytes, json.length);
    let { at, weight } = this;
    let inString = this.#inString;
    while (at < end && weight <= most) {
      weight += step;
      if (inString) {
        at = this.#strings.next(at);
        if (json[at] === BACKSLASH) {
          weight += ESCAPE;
          at += 2;
        } else {
          inString = false;
          this.#to = at++;
        }
        continue;
      }
      const byte = json[at++];
      if (byte === QUOTE) {
        inString = true;
        this.#from = at;
      } else if (byte === COMMA) weight += item;
      else if (byte === COLON)
        weight += MEMBER + (this.#names.isNew(this.#from, this.#to) ? this.#newName : 0);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) weight += NEST;
    }
    this.at = at;
    this.weight = weight;
    this.#inString = inString;
  }
}

/** Longer names are always taken for new ones. */
const LONG_NAME = 64;
/** Differs in each process, so that no caller knows which names are taken for the same. */
const SEED = Math.floor(Math.random() * 0x7fffffff) | 1;

/** Tells names apart by their hash. */
class Names {
  readonly #json: Uint8Array;
  readonly #seen = new Set<number>();

  constructor(json: Uint8Array) {
    this.#json = json;
  }

  /** Whether the name from `from` to before `to` has not been before. */
  isNew(from: number, to: number): boolean {
    if (to - from > LONG_NAME) return true;
    let hash = SEED;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (hash >>> 15) ^ this.#json[i]!, 0x2c1b3c6d);
    hash &= 0x3fffffff;
    if (this.#seen.has(hash)) return false;
    this.#seen.add(hash);
    return true;
  }
}

/** Bytes after an escape that are looked at one by one: where one is, there are more. */
const NEAR_BYTES = 32;

/** Finds the ends of strings and their escapes. Linear: what was found ahead is kept. */
class Strings {
  readonly #json: Uint8Array;
  #quote = -1;
  #backslash = -1;

  constructor(json: Uint8Array) {
    this.#json = json;
  }

  /** Where the next quote or backslash stands, from `from` on, inside of a string; the text's length if none does. */
  next(from: number): number {
    const json = this.#json;
    for (let i = from; i < from + NEAR_BYTES; i++) if (json[i] === QUOTE || json[i] === BACKSLASH) return i;
    if (this.#quote < from) this.#quote = at(json, QUOTE, from);
    if (this.#backslash < from) this.#backslash = at(json, BACKSLASH, from);
    return Math.min(this.#quote, this.#backslash);
  }
}

function at(json: Uint8Array, byte: number, from: number): number {
  const index = json.indexOf(byte, from);
  return index === -1 ? json.length : index;
}
