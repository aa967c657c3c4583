// Sliding windows in memory, slice by slice as the Lua does it (redis/script.ts). They start empty with the process.

interface Ring {
  /** The newest slice. */
  newest: number;
  total: number;
  /** Counts of slices + 1 slices, at the slice's number modulo their number. */
  readonly counts: Float64Array;
  /** Microseconds of a slice. */
  readonly length: number;
}

export interface WindowName {
  readonly org: string;
  readonly key: string;
  /** Microseconds of a slice. */
  readonly length: number;
  readonly slices: number;
}

export interface Windows {
  /** The sum that counts now. */
  total(name: WindowName, us: number): number;
  /** Counts now; answers the slice. */
  take(name: WindowName, us: number, cost: number): number;
  /** Gives back into the slice where it was counted, if the window still has it. */
  give(name: WindowName, slice: number, cost: number): void;
  /** Microseconds until `cost` fits under `limit`; undefined: never. */
  wait(name: WindowName, us: number, cost: number, limit: number): number | undefined;
  /** The slice in which something taken now would be counted. */
  slice(name: WindowName, us: number): number;
  /** What was done since the last `keep` can be undone back to a mark. */
  mark(): number;
  undo(mark: number): void;
  keep(): void;
  /** Lets go of windows in which nothing counts any more. */
  tidy(us: number): void;
}

/** How long an empty window is kept, in microseconds: a clock that goes back for a while finds it again. */
const KEPT_US = 3_600_000_000;

export function createWindows(): Windows {
  const rings = new Map<string, Ring>();
  let undos: (() => void)[] = [];

  function add(ring: Ring, slice: number, cost: number): void {
    const place = placeOf(ring, slice);
    ring.counts[place] = (ring.counts[place] ?? 0) + cost;
    ring.total += cost;
  }

  return {
    total: (name, us) => {
      const ring = rings.get(textOf(name));
      return ring === undefined ? 0 : view(ring, us).total;
    },
    slice: (name, us) => {
      const ring = rings.get(textOf(name));
      return ring === undefined ? Math.floor(us / name.length) : view(ring, us).newest;
    },

    take: (name, us, cost) => {
      const ring = rings.get(textOf(name)) ?? emptyRing(name, us);
      rings.set(textOf(name), ring);
      moveOn(ring, us);
      const slice = ring.newest;
      add(ring, slice, cost);
      undos.push(() => add(ring, slice, -cost));
      return slice;
    },

    give: (name, slice, cost) => {
      const ring = rings.get(textOf(name));
      if (ring === undefined || slice > ring.newest || slice <= ring.newest - ring.counts.length) return;
      const given = Math.min(cost, ring.counts[placeOf(ring, slice)] ?? 0);
      add(ring, slice, -given);
      undos.push(() => add(ring, slice, given));
    },

    wait: (name, us, cost, limit) => {
      const ring = rings.get(textOf(name));
      if (cost > limit || ring === undefined) return undefined;
      const { newest, total, folded } = view(ring, us);
      const size = ring.counts.length;
      if (folded) return (newest + size) * ring.length - us;
      let need = total + cost - limit;
      for (let slice = newest - size + 1; slice <= ring.newest; slice++) {
        need -= ring.counts[placeOf(ring, slice)] ?? 0;
        if (need <= 0) return (slice + size) * ring.length - us;
      }
      return undefined;
    },

    mark: () => undos.length,
    undo: (mark) => {
      for (const undo of undos.splice(mark).reverse()) undo();
    },
    keep: () => {
      undos = [];
    },
    tidy: (us) => {
      for (const [name, ring] of rings) {
        if (us - (ring.newest + ring.counts.length) * ring.length > KEPT_US) rings.delete(name);
      }
    },
  };
}

function textOf({ org, key, length, slices }: WindowName): string {
  return `${org}\0${length}\0${slices}\0${key}`;
}

function emptyRing({ length, slices }: WindowName, us: number): Ring {
  return { newest: Math.floor(us / length), total: 0, counts: new Float64Array(slices + 1), length };
}

/** The first slices of all time have no place of their own. */
function placeOf(ring: Ring, slice: number): number {
  const size = ring.counts.length;
  return ((slice % size) + size) % size;
}

/** The window as it stands now; looking changes nothing, as in the Lua. */
function view(ring: Ring, us: number): { newest: number; total: number; folded: boolean } {
  const current = Math.floor(us / ring.length);
  const size = ring.counts.length;
  // The clock went back by more than a window: all of it counts from now.
  if (ring.newest - current >= size) return { newest: current, total: ring.total, folded: true };
  // By less: what is counted now belongs to the newest slice.
  if (current <= ring.newest) return { newest: ring.newest, total: ring.total, folded: false };
  if (current - ring.newest >= size) return { newest: current, total: 0, folded: false };
  let total = ring.total;
  for (let slice = ring.newest + 1; slice <= current; slice++)
    total -= ring.counts[placeOf(ring, slice)] ?? 0;
  return { newest: current, total, folded: false };
}

function moveOn(ring: Ring, us: number): void {
  const { newest, total, folded } = view(ring, us);
  if (folded) {
    ring.counts.fill(0);
    ring.counts[placeOf(ring, newest)] = total;
  } else {
    const from = Math.max(ring.newest + 1, newest - ring.counts.length + 1);
    for (let slice = from; slice <= newest; slice++) ring.counts[placeOf(ring, slice)] = 0;
  }
  ring.newest = newest;
  ring.total = total;
}
