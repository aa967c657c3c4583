// Vectors in memory, on the main thread: a shelf for each organisation.
import type { Body } from './call.ts';
import { createVectorIndex, type VectorIndex } from './vector-index.ts';

export function vectorBodies(): {
  readonly add: Body<'addVector'>;
  readonly near: Body<'nearVectors'>;
  readonly remove: Body<'removeVector'>;
} {
  const shelves = new Map<string, VectorIndex>();
  return {
    add: (org, request, { ms }) => {
      const shelf = shelves.get(org) ?? createVectorIndex();
      shelves.set(org, shelf);
      return { supported: true, kept: shelf.add(request, ms) };
    },
    near: (org, { scope, vector, most }, { ms }) => ({
      supported: true,
      found: shelves.get(org)?.near(scope, vector, most, ms) ?? [],
    }),
    remove: (org, { scope, id }) => shelves.get(org)?.remove(scope, id) ?? false,
  };
}
