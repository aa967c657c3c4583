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
  const shelves = new Map<string, CacheSpace>();

  function drop(shelf: CacheSpace | undefined, key: string): boolean {
    const entry = shelf?.entries.get(key);
    if (shelf === undefined || entry === undefined) return false;
    shelf.bytes -= entry.size;
    return shelf.entries.delete(key);
  }

  return {
    read: (org, { key, maxAgeMs }, { ms }) => {
      const shelf = shelves.get(org);
      const entry = shelf?.entries.get(key);
      if (shelf === undefined || entry === undefined) return undefined;
      if (entry.endsAt <= ms) {
        drop(shelf, key);
        return undefined;
      }
      const ageMs = Math.max(0, ms - entry.madeAt);
      if (maxAgeMs !== undefined && ageMs > maxAgeMs) return undefined;
      shelf.entries.delete(key);
      shelf.entries.set(key, entry);
      return { value: entry.value, ageMs };
    },

    write: (org, { key, value, ttlMs, maxBytes }, { ms }) => {
      const shelf = shelves.get(org) ?? { entries: new Map<string, Entry>(), bytes: 0 };
      shelves.set(org, shelf);
      drop(shelf, key);
      const size = cachedSize(key, value);
      if (size > maxBytes) return { kept: false, bytes: shelf.bytes, evicted: 0 };
      let evicted = 0;
      for (const oldest of shelf.entries.keys()) {
        if (shelf.bytes + size <= maxBytes) break;
        drop(shelf, oldest);
        evicted++;
      }
      // A copy: the caller's bytes may be a small part of a large buffer, or change.
      shelf.entries.set(key, { value: Buffer.from(value), madeAt: ms, endsAt: ms + ttlMs, size });
      shelf.bytes += size;
      return { kept: true, bytes: shelf.bytes, evicted };
    },

    remove: (org, { key }) => drop(shelves.get(org), key),
  };
}
