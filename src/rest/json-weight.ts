// How dear a JSON text is to read, before it is read: a body of 24 MiB that is one text takes some milliseconds, one of
// eight million empty objects takes seconds, all of them on the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;

/** What an item of a list, a member's name and a nest cost against each other when they are read and decoded. */
const ITEM = 1;
const MEMBER = 6;
/** What a name costs in addition when it is the first of its kind: each is kept by the engine, and makes objects slow. */
const NEW_NAME = 18;
const NEST = 4;
/** What an escaped sign of a string costs when it is read and when its string is looked through. */
const ESCAPE = 0.2;
/**
 * Of one body: 400,000 numbers, 57,000 members, 16,000 members with names of their own or 2 million escapes, which take
 * about 30 ms to read and to decode.
 */
export const MOST_WEIGHT = 400_000;
/** Bytes that are scanned in one turn of the event loop: about 5 ms. */
const SLICE_BYTES = 2_097_152;
/** Weight that is found in one turn at the most. */
const SLICE_WEIGHT = 50_000;
/** Shorter texts cannot weigh too much for one turn. */
export const LIGHT_BYTES = 65_536;

/**
 * Whether a JSON text weighs more than `most`. It works in turns of the event loop.
 * @param most in the unit of `MOST_WEIGHT`
 * @param byteWeight what each byte weighs
 */
export async function isTooHeavy(
  json: Uint8Array,
  most: number = MOST_WEIGHT,
  byteWeight = 0,
): Promise<boolean> {
  if (json.length <= LIGHT_BYTES) return false;
  const strings = new Strings(json);
  const names = new Names(json);
  let weight = json.length * byteWeight;
  let pause = SLICE_BYTES;
  let pauseWeight = weight + SLICE_WEIGHT;
  let inString = false;
  /** Of the last string: its first byte, and its closing quote. */
  let from = 0;
  let to = 0;
  for (let i = 0; i < json.length && weight <= most; ) {
    if (inString) {
      i = strings.next(i);
      if (json[i] === BACKSLASH) {
        weight += ESCAPE;
        i += 2;
      } else {
        inString = false;
        to = i++;
      }
    } else {
      const byte = json[i++];
      if (byte === QUOTE) {
        inString = true;
        from = i;
      } else if (byte === COMMA) weight += ITEM;
      else if (byte === COLON) weight += names.isNew(from, to) ? MEMBER + NEW_NAME : MEMBER;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) weight += NEST;
    }
    if (i < pause && weight < pauseWeight) continue;
    pause = i + SLICE_BYTES;
    pauseWeight = weight + SLICE_WEIGHT;
    await nextTurn();
  }
  return weight > most;
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
