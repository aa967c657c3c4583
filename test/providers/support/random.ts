// A small seeded generator (mulberry32), so that a failing cut can be cut again.

/** Numbers from 0 up to, not including, 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The bytes in pieces of random length, 0 to 2 * `mean`. */
export function* pieces(bytes: Uint8Array, random: () => number, mean: number): Generator<Uint8Array> {
  let from = 0;
  while (from < bytes.length) {
    const to = from + Math.floor(random() * (2 * mean + 1));
    yield bytes.subarray(from, to);
    from = to;
  }
}

/** A short stream is cut behind each byte, and so are the first bytes of a long one. */
const EACH = 1024;
/** Bytes behind which long streams are cut at the most. */
const MOST = 4096;
/** How many of the bytes that only go on with a word are cut behind, beyond the first ones. */
const SHARE = 0.1;

/**
 * Places at which a stream is cut in two. A long one is cut next to every byte that may mean something to a framing, to
 * JSON or to UTF-8 (all but letters, digits and spaces); between two others a parser is in the state that it was in a
 * byte before, so a seeded few stand for all.
 */
export function* cuts(bytes: Uint8Array): Generator<number> {
  const random = seeded(bytes.length);
  for (let at = 1; at < Math.min(bytes.length, MOST); at += 1) {
    if (at <= EACH || !isPlain(bytes[at - 1]) || !isPlain(bytes[at]) || random() < SHARE) yield at;
  }
}

function isPlain(byte = 0): boolean {
  const lower = byte | 0x20;
  return byte === 0x20 || (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x7a && byte < 0x80);
}
