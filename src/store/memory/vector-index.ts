// Vectors compared one by one: exact, and within a scope few enough.
import { type NearVector, unitVector, type VectorAdd, vectorSize } from '../shared/vectors.ts';

interface Entry {
  readonly unit: Float32Array;
  readonly endsAt: number;
  readonly size: number;
}

/** Vectors within one bound of bytes. */
export interface VectorIndex {
  readonly bytes: number;
  /** False when it is not kept: too large, without a direction, or of other dimensions than its scope. */
  add(vector: VectorAdd, ms: number): boolean;
  near(scope: string, vector: Float32Array, most: number, ms: number): readonly NearVector[];
  remove(scope: string, id: string): boolean;
}

/** Vectors of one scope: as many are compared in about a millisecond. */
export const SCOPE_VECTORS = 1000;

export function createVectorIndex(): VectorIndex {
  /** Scopes in the order of their last use, each with its vectors in the order of their coming. */
  const scopes = new Map<string, Map<string, Entry>>();
  let bytes = 0;

  function drop(scope: string, entries: Map<string, Entry> | undefined, id: string): boolean {
    const entry = entries?.get(id);
    if (entries === undefined || entry === undefined) return false;
    bytes -= entry.size;
    entries.delete(id);
    if (entries.size === 0) scopes.delete(scope);
    return true;
  }

  /** The oldest vectors of the scopes used longest ago go. */
  function shrinkTo(most: number): void {
    for (const [scope, entries] of scopes) {
      for (const id of entries.keys()) {
        if (bytes <= most) return;
        drop(scope, entries, id);
      }
    }
  }

  function use(scope: string, entries: Map<string, Entry>): void {
    scopes.delete(scope);
    scopes.set(scope, entries);
  }

  return {
    add(vector, ms) {
      const { scope, id, ttlMs, maxBytes } = vector;
      const unit = unitVector(vector.vector);
      drop(scope, scopes.get(scope), id);
      const size = vectorSize(vector);
      if (unit === undefined || size > maxBytes) return false;
      const there = scopes.get(scope);
      const first = there?.entries().next().value;
      if (first !== undefined && first[1].unit.length !== unit.length) return false;
      if (first !== undefined && there!.size >= SCOPE_VECTORS) drop(scope, there, first[0]);
      shrinkTo(maxBytes - size);
      const entries = scopes.get(scope) ?? new Map<string, Entry>();
      use(scope, entries);
      entries.set(id, { unit, endsAt: ms + ttlMs, size });
      bytes += size;
      return true;
    },

    near(scope, vector, most, ms) {
      const entries = scopes.get(scope);
      const unit = unitVector(vector);
      if (entries === undefined || unit === undefined) return [];
      use(scope, entries);
      const found: NearVector[] = [];
      for (const [id, entry] of entries) {
        if (entry.endsAt <= ms) drop(scope, entries, id);
        else if (entry.unit.length === unit.length) found.push({ id, similarity: dot(entry.unit, unit) });
      }
      return found.sort((a, b) => b.similarity - a.similarity).slice(0, most);
    },

    remove: (scope, id) => drop(scope, scopes.get(scope), id),

    get bytes() {
      return bytes;
    },
  };
}

/** The dot product of two vectors of one length. Four accumulators, so that additions do not wait for each other. */
function dot(a: Float32Array, b: Float32Array): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (const whole = a.length - 3; i < whole; i += 4) {
    s0 += a[i]! * b[i]!;
    s1 += a[i + 1]! * b[i + 1]!;
    s2 += a[i + 2]! * b[i + 2]!;
    s3 += a[i + 3]! * b[i + 3]!;
  }
  for (; i < a.length; i++) s0 += a[i]! * b[i]!;
  return Math.min(1, Math.max(-1, s0 + s1 + s2 + s3));
}
