// Vectors in this process's memory.
import { createVectorIndex } from '../../store/memory/vector-index.ts';
import type { VectorStore } from './vectors.ts';

export interface LocalVectorOptions {
  /** Most bytes of all vectors and their bookkeeping. */
  readonly maxBytes: number;
  /** Unix milliseconds; Date.now by default. */
  readonly now?: () => number;
}

/** A store that knows its weight. */
export interface LocalVectors extends VectorStore {
  readonly bytes: number;
}

/** Opens an empty store. */
export function createLocalVectors({ maxBytes, now = Date.now }: LocalVectorOptions): LocalVectors {
  const replica = createVectorIndex();
  return {
    near: (org, scope, vector, most) => replica.near(nameOf(org, scope), vector, most, now()),
    add: (org, scope, kept) => {
      replica.add({ ...kept, scope: nameOf(org, scope), maxBytes }, now());
    },
    remove: (org, scope, id) => {
      replica.remove(nameOf(org, scope), id);
    },
    get bytes() {
      return replica.bytes;
    },
  };
}

/** One text of both, with the length in front: no other pair gives the same. */
function nameOf(organisationId: string, scope: string): string {
  return `${organisationId.length}:${organisationId}:${scope}`;
}
