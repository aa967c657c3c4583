// Stored rows as documents.
import { setImmediate } from 'node:timers/promises';
import type { Collection } from '../collection.ts';
import type { Document } from '../documents.ts';
import { upgraded } from '../upgrades.ts';
import type { DocumentRow } from './document-schema.ts';

/** A row with its parsed body. */
export function documentOf<B extends object>(row: DocumentRow): Document<B> {
  const { workspaceId, slug } = row;
  return {
    id: row.id,
    organisationId: row.organisationId,
    ...(workspaceId === null ? {} : { workspaceId }),
    ...(slug === null ? {} : { slug }),
    version: row.version,
    status: row.archived ? 'archived' : 'active',
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    schemaVersion: row.schemaVersion,
    body: JSON.parse(row.body) as B,
  };
}

/** Characters parsed between two turns of the event loop: about two milliseconds' work. */
const SLICE = 256 * 1024;

/** Rows in their collections' shapes. Gives way to other work in between. */
export async function documentsOf<B extends object>(
  collectionOf: (index: number) => Collection<object>,
  rows: readonly DocumentRow[],
): Promise<Document<B>[]> {
  const documents: Document<B>[] = [];
  let parsed = 0;
  for (const [index, row] of rows.entries()) {
    parsed += row.body.length;
    if (parsed > SLICE) {
      await setImmediate();
      parsed = row.body.length;
    }
    documents.push(upgraded<B>(collectionOf(index), documentOf(row)));
  }
  return documents;
}
