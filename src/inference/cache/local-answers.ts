// Answers in this process's memory, on the event loop: a read is a look into a map.
import type { AnswerStore } from './answers.ts';

interface Entry {
  readonly value: Uint8Array;
  readonly madeAt: number;
  readonly endsAt: number;
  readonly size: number;
}

export interface LocalAnswerOptions {
  /** Most bytes of all answers, keys and bookkeeping together. */
  readonly maxBytes: number;
  /** Unix milliseconds; Date.now by default. */
  readonly now?: () => number;
}

/** What one entry costs in addition to its key and its bytes, as measured: map slot, objects, the buffer and its store. */
export const ENTRY_BYTES = 512;

/** A store that knows its weight. */
export interface LocalAnswers extends AnswerStore {
  readonly bytes: number;
  readonly size: number;
}

/** Opens an empty store. */
export function createLocalAnswers({ maxBytes, now = Date.now }: LocalAnswerOptions): LocalAnswers {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(name: string): void {
    const entry = entries.get(name);
    if (entry === undefined) return;
    bytes -= entry.size;
    entries.delete(name);
  }

  return {
    read(organisationId, key, maxAgeMs) {
      const name = nameOf(organisationId, key);
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const at = now();
      if (entry.endsAt <= at) {
        drop(name);
        return undefined;
      }
      const ageMs = Math.max(0, at - entry.madeAt);
      if (ageMs > maxAgeMs) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return { value: entry.value, ageMs };
    },

    write(organisationId, key, value, ttlMs) {
      const name = nameOf(organisationId, key);
      drop(name);
      const size = value.byteLength + Buffer.byteLength(name) + ENTRY_BYTES;
      if (size > maxBytes) return;
      for (const oldest of entries.keys()) {
        if (bytes + size <= maxBytes) break;
        drop(oldest);
      }
      const madeAt = now();
      entries.set(name, { value, madeAt, endsAt: madeAt + ttlMs, size });
      bytes += size;
    },

    remove(organisationId, key) {
      drop(nameOf(organisationId, key));
    },

    get bytes() {
      return bytes;
    },
    get size() {
      return entries.size;
    },
  };
}

/** One text of both, with the length in front: no other pair gives the same. */
function nameOf(organisationId: string, key: string): string {
  return `${organisationId.length}:${organisationId}:${key}`;
}
