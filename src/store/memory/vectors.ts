// Vectors in memory, on the main thread: an index for each organisation.
import type { Body } from './call.ts';
import { createVectorIndex, type VectorIndex } from './vector-index.ts';

export function vectorBodies(): {
  readonly add: Body<'addVector'>;
  readonly near: Body<'nearVectors'>;
  readonly remove: Body<'removeVector'>;
} {
  const indexes = new Map<string, VectorIndex>();
  return {
    add: (org, request, { ms }) => {
      const index = indexes.get(org) ?? createVectorIndex();
      indexes.set(org, index);
      return { supported: true, kept: index.add(request, ms) };
    },
    near: (org, { scope, vector, most }, { ms }) => ({
      supported: true,
      found: indexes.get(org)?.near(scope, vector, most, ms) ?? [],
    }),
    remove: (org, { scope, id }) => indexes.get(org)?.remove(scope, id) ?? false,
  };
}
