// A document handed to the one of several replicas that has its collection.
import type { Document } from '../../src/store/documents.ts';
import type { Followed } from '../../src/store/replica.ts';

/** @throws Error when none of the replicas has the collection */
export function applyDocument(
  { replicas }: { readonly replicas: readonly Followed[] },
  collection: string,
  document: Document<object>,
): void {
  const replica = replicas.find((one) => one.collection.name === collection);
  if (replica === undefined) throw new Error(`nothing follows ${collection}`);
  replica.apply(document);
}
