// The slices of one window: pairs of place and count while few are not empty, an array of all when they are many.

export interface Ring {
  /** The newest slice. */
  newest: number;
  total: number;
  /** Microseconds of a slice. */
  readonly length: number;
  /** Slices that are remembered: one more than the window has. */
  readonly size: number;
  /** Alternating positions and counts, or counts at the slice's number modulo `size`. */
  counts: number[] | Float64Array;
}

/** Slices that are kept as pairs at the most. */
const MOST_PAIRS = 12;

/** A window without counts. @param us now, in microseconds */
export function createRing(length: number, slices: number, us: number): Ring {
  return { newest: Math.floor(us / length), total: 0, length, size: slices + 1, counts: [] };
}

/** What was counted in a slice that the ring remembers. */
export function countAt(ring: Ring, slice: number): number {
  const { counts } = ring;
  const place = placeOf(ring, slice);
  if (counts instanceof Float64Array) return counts[place] ?? 0;
  for (let i = 0; i < counts.length; i += 2) if (counts[i] === place) return counts[i + 1] ?? 0;
  return 0;
}

/** Counts in a slice; a negative cost gives back. */
export function addCount(ring: Ring, slice: number, cost: number): void {
  ring.total += cost;
  const place = placeOf(ring, slice);
  if (!(ring.counts instanceof Float64Array)) {
    if (addPair(ring.counts, place, cost)) return;
    ring.counts = spread(ring.counts, ring.size);
  }
  ring.counts[place] = (ring.counts[place] ?? 0) + cost;
}

/** Empties the slices from one to another; the total is the caller's. */
export function clearSlices(ring: Ring, from: number, to: number): void {
  const { counts } = ring;
  if (counts instanceof Float64Array) {
    for (let slice = from; slice <= to; slice++) counts[placeOf(ring, slice)] = 0;
    return;
  }
  if (to - from + 1 >= ring.size) ring.counts = [];
  else {
    const gone = new Set<number>();
    for (let slice = from; slice <= to; slice++) gone.add(placeOf(ring, slice));
    const left: number[] = [];
    for (let i = 0; i < counts.length; i += 2)
      if (!gone.has(counts[i] ?? 0) && counts[i + 1] !== 0) left.push(counts[i] ?? 0, counts[i + 1] ?? 0);
    ring.counts = left;
  }
}

export function clearAll(ring: Ring): void {
  ring.counts = [];
  ring.total = 0;
}

/** Whether there was room for it among the pairs. */
function addPair(pairs: number[], place: number, cost: number): boolean {
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] !== place) continue;
    pairs[i + 1] = (pairs[i + 1] ?? 0) + cost;
    return true;
  }
  if (pairs.length >= 2 * MOST_PAIRS) return false;
  pairs.push(place, cost);
  return true;
}

function spread(pairs: readonly number[], size: number): Float64Array {
  const counts = new Float64Array(size);
  for (let i = 0; i < pairs.length; i += 2) counts[pairs[i] ?? 0] = pairs[i + 1] ?? 0;
  return counts;
}

/** The first slices of all time have no place of their own. */
function placeOf({ size }: Ring, slice: number): number {
  return ((slice % size) + size) % size;
}
