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
const NEST = 4;
/** Of one body: 400,000 numbers or 57,000 members, which take about 30 ms to read and to decode. */
export const MOST_WEIGHT = 400_000;
/** Bytes that are scanned in one turn of the event loop: about 5 ms. */
const SLICE_BYTES = 2_097_152;
/** Shorter texts cannot weigh too much for one turn. */
const LIGHT_BYTES = 65_536;

/** Whether a JSON text weighs more than `MOST_WEIGHT`. Its strings are skipped; all in turns of the event loop. */
export async function isTooHeavy(json: Uint8Array): Promise<boolean> {
  if (json.length <= LIGHT_BYTES) return false;
  let weight = 0;
  let pause = SLICE_BYTES;
  let inString = false;
  for (let i = 0; i < json.length && weight <= MOST_WEIGHT; ) {
    if (inString) {
      const end = skipped(json, i);
      inString = end < 0;
      i = inString ? -end : end;
    } else {
      const byte = json[i++];
      if (byte === QUOTE) inString = true;
      else if (byte === COMMA) weight += ITEM;
      else if (byte === COLON) weight += MEMBER;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) weight += NEST;
    }
    if (i < pause) continue;
    pause = i + SLICE_BYTES;
    await nextTurn();
  }
  return weight > MOST_WEIGHT;
}

/** Bytes after an escaped quote that are checked one by one: escaped quotes come in groups. */
const NEAR_BYTES = 65_536;

/**
 * The position after the string that goes on at `from`, which is not inside an escape: one past its closing quote or,
 * as a negative number, where it is still open.
 */
function skipped(json: Uint8Array, from: number): number {
  const quote = json.indexOf(QUOTE, from);
  if (quote === -1) return json.length;
  let slashes = 0;
  while (quote - slashes > from && json[quote - 1 - slashes] === BACKSLASH) slashes++;
  if (slashes % 2 === 0) return quote + 1;
  let i = quote + 1;
  for (const until = Math.min(json.length, i + NEAR_BYTES); i < until; i++) {
    const byte = json[i];
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i++;
  }
  return -i;
}
