// Vectors in memory, on the main thread: a shelf for each organisation.
import type { Body } from './call.ts';
import { createVectorShelf, type VectorShelf } from './vector-shelf.ts';

export function vectorBodies(): {
  readonly add: Body<'addVector'>;
  readonly near: Body<'nearVectors'>;
  readonly remove: Body<'removeVector'>;
} {
  const shelves = new Map<string, VectorShelf>();
  return {
    add: (org, request, { ms }) => {
      const shelf = shelves.get(org) ?? createVectorShelf();
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
