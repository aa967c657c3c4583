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
