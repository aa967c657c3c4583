// Random ids (UUID version 4, RFC 9562) for every call: made many at a time, because the engine's own costs a rope of
// twenty strings each.
import { randomFillSync } from 'node:crypto';

const ID_LENGTH = 36;
/** Ids of one block. As long as one of them is held, so is the block: a few kilobytes. */
const IDS = 128;
const random = Buffer.allocUnsafeSlow(IDS * 16);
const letters = Buffer.allocUnsafeSlow(IDS * ID_LENGTH);
const DIGITS = Buffer.from('0123456789abcdef');
const DASH = 0x2d;

let block = '';
let next = IDS;

/** A new id, from the system's source of randomness. */
export function randomId(): string {
  if (next === IDS) {
    block = makeBlock();
    next = 0;
  }
  const at = next++ * ID_LENGTH;
  return block.slice(at, at + ID_LENGTH);
}

function makeBlock(): string {
  randomFillSync(random);
  for (let id = 0, to = 0; id < IDS; id++) {
    const from = id * 16;
    random[from + 6] = (random[from + 6]! & 0x0f) | 0x40;
    random[from + 8] = (random[from + 8]! & 0x3f) | 0x80;
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) letters[to++] = DASH;
      const byte = random[from + i]!;
      letters[to++] = DIGITS[byte >> 4]!;
      letters[to++] = DIGITS[byte & 15]!;
    }
  }
  return letters.toString('latin1');
}
