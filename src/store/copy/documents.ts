// Copies documents from one store into another, exactly as they are. Copying is idempotent, so that a copy that
// was cut off is simply made again.
import type { Collection } from '../collection.ts';
import type { Document } from '../documents.ts';
import type { ScanBatch, StoredDocument } from '../maintenance.ts';
import { type RowDigest, rowDigest } from '../row-digest.ts';
import { type Comparison, type Conflict, type Copied, type CopySide, TOLD } from './sides.ts';

const BATCH = 500;

async function* batchesOf(
  { maintenance }: CopySide,
  collection: Collection<object>,
): AsyncGenerator<readonly StoredDocument[]> {
  let after: string | undefined;
  do {
    const batch: ScanBatch = await maintenance.scan(collection, { limit: BATCH, after });
    yield batch.documents;
    after = batch.next;
  } while (after !== undefined);
}

/** The first documents of a collection that the target has and the source lacks or has differently. Writes nothing. */
export async function documentConflicts(
  source: CopySide,
  target: CopySide,
  collection: Collection<object>,
): Promise<Conflict[]> {
  const conflicts: Conflict[] = [];
  for await (const batch of batchesOf(target, collection)) {
    const documents = batch.map(({ document }) => document);
    const found = await source.maintenance.lookUp(collection, documents);
    for (const [index, what] of found.entries()) {
      if (what === 'present') continue;
      const why = what === 'differs' ? 'is another document than in the source' : 'is not in the source';
      conflicts.push(conflictOf(collection, documents[index] as Document<object>, why));
    }
    if (conflicts.length >= TOLD) break;
  }
  return conflicts.slice(0, TOLD);
}

/** Copies a collection. Conflicts are writes since the target was checked: the copy is then incomplete. */
export async function copyDocuments(
  source: CopySide,
  target: CopySide,
  collection: Collection<object>,
): Promise<Copied & { readonly conflicts: readonly Conflict[] }> {
  let [written, present] = [0, 0];
  const conflicts: Conflict[] = [];
  for await (const batch of batchesOf(source, collection)) {
    const documents = batch.map(({ document }) => document);
    const outcomes = await target.maintenance.importDocuments(collection, documents);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome === 'written') written++;
      else if (outcome === 'present') present++;
      else {
        const why =
          outcome === 'differs' ? 'is there already, and differs' : 'has a unique value that is taken';
        conflicts.push(conflictOf(collection, documents[index] as Document<object>, why));
      }
    }
    if (conflicts.length >= TOLD) break;
  }
  return { name: collection.name, written, present, conflicts: conflicts.slice(0, TOLD) };
}

/** All rows of a collection on both sides. */
export async function compareDocuments(
  source: CopySide,
  target: CopySide,
  collection: Collection<object>,
): Promise<Comparison> {
  const [mine, theirs] = await Promise.all([digestOf(source, collection), digestOf(target, collection)]);
  return { name: collection.name, source: summary(mine), target: summary(theirs) };
}

async function digestOf(side: CopySide, collection: Collection<object>): Promise<RowDigest> {
  const digest = rowDigest();
  for await (const batch of batchesOf(side, collection)) {
    for (const { document } of batch) digest.add(textOf(document));
  }
  return digest;
}

function textOf(document: Document<object>): string {
  const { id, organisationId, workspaceId = null, slug = null, version, status } = document;
  const { createdAt, updatedAt, schemaVersion, body } = document;
  return JSON.stringify([
    ...[id, organisationId, workspaceId, slug, version, status],
    ...[createdAt, updatedAt, schemaVersion, body],
  ]);
}

function summary({ count, hash }: RowDigest): Comparison['source'] {
  return { count, hash };
}

function conflictOf(
  { name }: Collection<object>,
  { organisationId, id }: Document<object>,
  why: string,
): Conflict {
  return { name, organisationId, id, why };
}
