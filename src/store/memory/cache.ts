// The cache in memory, on the main thread: values are not copied to be read.
import { cachedSize } from '../shared/cache.ts';
import type { Body } from './call.ts';

interface Entry {
  readonly value: Uint8Array;
  readonly madeAt: number;
  readonly endsAt: number;
  readonly size: number;
}

/** Entries of one organisation, in the order of their last use. */
interface CacheSpace {
  readonly entries: Map<string, Entry>;
  bytes: number;
}

export function cacheBodies(): {
  readonly read: Body<'readCache'>;
  readonly write: Body<'writeCache'>;
  readonly remove: Body<'removeCache'>;
} {
  const spaces = new Map<string, CacheSpace>();

  function drop(space: CacheSpace | undefined, key: string): boolean {
    const entry = space?.entries.get(key);
    if (space === undefined || entry === undefined) return false;
    space.bytes -= entry.size;
    return space.entries.delete(key);
  }

  return {
    read: (org, { key, maxAgeMs }, { ms }) => {
      const space = spaces.get(org);
      const entry = space?.entries.get(key);
      if (space === undefined || entry === undefined) return undefined;
      if (entry.endsAt <= ms) {
        drop(space, key);
        return undefined;
      }
      const ageMs = Math.max(0, ms - entry.madeAt);
      if (maxAgeMs !== undefined && ageMs > maxAgeMs) return undefined;
      space.entries.delete(key);
      space.entries.set(key, entry);
      return { value: entry.value, ageMs };
    },

    write: (org, { key, value, ttlMs, maxBytes }, { ms }) => {
      const space = spaces.get(org) ?? { entries: new Map<string, Entry>(), bytes: 0 };
      spaces.set(org, space);
      drop(space, key);
      const size = cachedSize(key, value);
      if (size > maxBytes) return { kept: false, bytes: space.bytes, evicted: 0 };
      let evicted = 0;
      for (const oldest of space.entries.keys()) {
        if (space.bytes + size <= maxBytes) break;
        drop(space, oldest);
        evicted++;
      }
      // A copy: the caller's bytes may be a small part of a large buffer, or change.
      space.entries.set(key, { value: Buffer.from(value), madeAt: ms, endsAt: ms + ttlMs, size });
      space.bytes += size;
      return { kept: true, bytes: space.bytes, evicted };
    },

    remove: (org, { key }) => drop(spaces.get(org), key),
  };
}
