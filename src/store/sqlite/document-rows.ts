// Rows of the workers as documents.
import { setImmediate } from 'node:timers/promises';
import type { Collection } from '../collection.ts';
import type { Document } from '../documents.ts';
import { upgraded } from '../upgrades.ts';
import type { DocumentRow, UpdatedParts } from './protocol.ts';

/** A row with its parsed body. */
export function documentOf<B extends object>(organisationId: string, row: DocumentRow, body: B): Document<B> {
  const [id, workspaceId, slug, version, archived, createdAt, updatedAt, schemaVersion] = row;
  return {
    id,
    organisationId,
    ...(workspaceId === '' ? {} : { workspaceId }),
    ...(slug === null ? {} : { slug }),
    version,
    status: archived ? 'archived' : 'active',
    createdAt,
    updatedAt,
    schemaVersion,
    body,
  };
}

/** The document that an update wrote. */
export function afterUpdate<B extends object>(
  organisationId: string,
  id: string,
  updatedAt: number,
  schemaVersion: number,
  kept: UpdatedParts,
  body: B,
): Document<B> {
  const [workspaceId, slug, version, createdAt] = kept;
  const row: DocumentRow = [id, workspaceId, slug, version, 0, createdAt, updatedAt, schemaVersion, ''];
  return documentOf(organisationId, row, body);
}

/** Characters parsed between two turns of the event loop: about two milliseconds' work. */
const SLICE = 256 * 1024;

/** The rows of a page, in the collection's shape. Gives way to other work in between. */
export async function documentsOf<B extends object>(
  collection: Collection<B>,
  organisationId: string,
  rows: readonly DocumentRow[],
): Promise<Document<B>[]> {
  const documents: Document<B>[] = [];
  let parsed = 0;
  for (const row of rows) {
    parsed += row[8].length;
    if (parsed > SLICE) {
      await setImmediate();
      parsed = row[8].length;
    }
    const document = documentOf(organisationId, row, JSON.parse(row[8]) as object);
    documents.push(upgraded<B>(collection, document));
  }
  return documents;
}
