// Sliding windows in memory, slice by slice as the Lua does it (redis/script.ts). They start empty with the process.
// A window that few calls were counted in is a few hundred bytes: only its slices that are not empty are kept.
import { addCount, clearAll, clearSlices, countAt, createRing, type Ring } from './ring.ts';

export interface WindowName {
  readonly org: string;
  readonly key: string;
  /** Microseconds of a slice. */
  readonly length: number;
  readonly slices: number;
  /** Of a window that belongs to a pool: the pool's key. */
  readonly pool?: string | undefined;
}

/** Where a call is counted of a window that may belong to a pool. */
export interface Place {
  readonly name: WindowName;
  /** What counts at once in a window that is new: calls of its group may be among those of the pool's others. */
  readonly base: number;
}

export interface Windows {
  /** The window itself; where its pool has as many as it may, that of all others. */
  place(name: WindowName, most: number, us: number): Place;
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
  /** Removes windows whose counts have all expired. */
  tidy(us: number): void;
}

/** How long an empty window is kept, in microseconds: a clock that goes back for a while finds it again. */
const KEPT_US = 3_600_000_000;

/** The key of the window that counts all groups for which a pool has no room. */
export function othersOf(pool: string): string {
  return `${pool}:others`;
}

/** Rings by their names. Those of a pool are apart, the one that was used longest ago first. */
type Rings = Map<string, Ring>;

export function createWindows(): Windows {
  const rings: Rings = new Map();
  const pools = new Map<string, Rings>();
  let undos: (() => void)[] = [];

  function ringsOf({ org, pool, key }: WindowName): Rings | undefined {
    return pool === undefined || key === othersOf(pool) ? rings : pools.get(poolText(org, pool));
  }

  function find(name: WindowName): Ring | undefined {
    return ringsOf(name)?.get(textOf(name));
  }

  function make(name: WindowName, us: number): Ring {
    let own = ringsOf(name);
    if (own === undefined) {
      own = new Map();
      pools.set(poolText(name.org, name.pool ?? ''), own);
    }
    const text = textOf(name);
    const ring = own.get(text) ?? createRing(name.length, name.slices, us);
    // Used last: it moves to the end of its pool.
    if (own !== rings) own.delete(text);
    own.set(text, ring);
    return ring;
  }

  return {
    place(name, most, us) {
      const { org, pool } = name;
      if (pool === undefined) return { name, base: 0 };
      const own = ringsOf(name);
      const ring = own?.get(textOf(name));
      if (ring !== undefined && us < endOf(ring)) return { name, base: 0 };
      const others: WindowName = { org, key: othersOf(pool), length: name.length, slices: name.slices };
      if (own !== undefined && own.size >= most) {
        dropFirst(own, us);
        if (own.size >= most) return { name: others, base: 0 };
      }
      const counted = find(others);
      return { name, base: counted === undefined ? 0 : view(counted, us).total };
    },
    total: (name, us) => {
      const ring = find(name);
      return ring === undefined ? 0 : view(ring, us).total;
    },
    slice: (name, us) => {
      const ring = find(name);
      return ring === undefined ? Math.floor(us / name.length) : view(ring, us).newest;
    },

    take: (name, us, cost) => {
      const ring = make(name, us);
      moveOn(ring, us);
      const slice = ring.newest;
      addCount(ring, slice, cost);
      undos.push(() => addCount(ring, slice, -cost));
      return slice;
    },

    give: (name, slice, cost) => {
      const ring = find(name);
      if (ring === undefined || slice > ring.newest || slice <= ring.newest - ring.size) return;
      const given = Math.min(cost, countAt(ring, slice));
      addCount(ring, slice, -given);
      undos.push(() => addCount(ring, slice, given));
    },

    wait: (name, us, cost, limit) => {
      const ring = find(name);
      if (cost > limit || ring === undefined) return undefined;
      const { newest, total, folded } = view(ring, us);
      const { size, length } = ring;
      if (folded) return (newest + size) * length - us;
      let need = total + cost - limit;
      for (let slice = newest - size + 1; slice <= ring.newest; slice++) {
        need -= countAt(ring, slice);
        if (need <= 0) return (slice + size) * length - us;
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
      dropEnded(rings, us - KEPT_US);
      for (const [pool, own] of pools) {
        dropEnded(own, us - KEPT_US);
        if (own.size === 0) pools.delete(pool);
      }
    },
  };
}

function textOf({ org, key, length, slices, pool }: WindowName): string {
  return pool === undefined || key === othersOf(pool)
    ? `${org}\0${length}\0${slices}\0${key}`
    : `${length}\0${slices}\0${key}`;
}

function poolText(org: string, pool: string): string {
  return `${org}\0${pool}`;
}

/** When all of its counts have expired, in microseconds. */
function endOf({ newest, size, length }: Ring): number {
  return (newest + size) * length;
}

/** Of a pool: those that were used longest ago end first. */
function dropFirst(own: Rings, us: number): void {
  for (const [name, ring] of own) {
    if (us < endOf(ring)) return;
    own.delete(name);
  }
}

function dropEnded(own: Rings, us: number): void {
  for (const [name, ring] of own) if (us >= endOf(ring)) own.delete(name);
}

/** The window's current counts; reading changes nothing, as in the Lua. */
function view(ring: Ring, us: number): { newest: number; total: number; folded: boolean } {
  const current = Math.floor(us / ring.length);
  // The clock went back by more than a window: all of it counts from now.
  if (ring.newest - current >= ring.size) return { newest: current, total: ring.total, folded: true };
  // By less: what is counted now belongs to the newest slice.
  if (current <= ring.newest) return { newest: ring.newest, total: ring.total, folded: false };
  if (current - ring.newest >= ring.size) return { newest: current, total: 0, folded: false };
  let { total } = ring;
  for (let slice = ring.newest + 1; slice <= current; slice++) total -= countAt(ring, slice);
  return { newest: current, total, folded: false };
}

function moveOn(ring: Ring, us: number): void {
  const { newest, total, folded } = view(ring, us);
  if (folded) {
    clearAll(ring);
    addCount(ring, newest, total);
  } else clearSlices(ring, Math.max(ring.newest + 1, newest - ring.size + 1), newest);
  ring.newest = newest;
  ring.total = total;
}
