// The maintenance port over the two workers.
import type { Collection } from '../collection.ts';
import type { Document } from '../documents.ts';
import type { DocumentMaintenance, ScanBatch } from '../maintenance.ts';
import { SCAN_LIMITS } from '../maintenance.ts';
import { checkDocument, checkRewrite, checkScan } from '../maintenance-checks.ts';
import { documentOf } from './document-rows.ts';
import type { DocumentRow, ReaderCall, RowImport, RowRewrite, ScannedRow, WriterCall } from './protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** A place in a table. */
const POSITION = /^\d{1,15}$/;

export function sqliteMaintenance(
  collections: readonly Collection<object>[],
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
): DocumentMaintenance {
  const placeOf = (collection: Collection<object>): number => {
    const place = collections.findIndex(({ name }) => name === collection.name);
    if (place < 0) throw new Error(`collection ${collection.name} was not given to the store`);
    return place;
  };
  return {
    count: (collection) => reader.call<number>({ kind: 'count', c: placeOf(collection) }),

    scan: async (collection, request): Promise<ScanBatch> => {
      const { limit, after, olderThan } = checkScan(request, POSITION);
      const rows = await reader.call<ScannedRow[]>({
        kind: 'scan',
        c: placeOf(collection),
        after: Number(after ?? 0),
        limit,
        characters: SCAN_LIMITS.characters,
        olderThan: olderThan ?? null,
      });
      const documents = rows.map(([, org, row]) => ({
        document: documentOf(org, row, JSON.parse(row[8]) as object),
        stamp: row[8],
      }));
      const last = rows.at(-1);
      return { documents, ...(last === undefined ? {} : { next: String(last[0]) }) };
    },

    rewrite: async (collection, rewrites) => {
      if (rewrites.length === 0) return [];
      const rows = rewrites.map((rewrite): RowRewrite => {
        const { stored, body, schemaVersion, fields } = checkRewrite(collection, rewrite);
        const { organisationId: org, id, version } = stored.document;
        return {
          org,
          id,
          version,
          schemaVersion: stored.document.schemaVersion,
          body: stored.stamp,
          newSchemaVersion: schemaVersion,
          newBody: body,
          fields,
        };
      });
      const length = rows.reduce((sum, { body, newBody }) => sum + body.length + newBody.length, 0);
      return writer.call({ kind: 'rewrite', c: placeOf(collection), rewrites: rows }, length);
    },

    lookUp: async (collection, documents) => {
      if (documents.length === 0) return [];
      const rows = documents.map((document) => importOf(collection, document));
      return reader.call({ kind: 'lookUp', c: placeOf(collection), rows });
    },

    importDocuments: async (collection, documents) => {
      if (documents.length === 0) return [];
      const imports = documents.map((document) => importOf(collection, document));
      const length = imports.reduce((sum, { row }) => sum + row[8].length, 0);
      return writer.call({ kind: 'import', c: placeOf(collection), imports }, length);
    },
  };
}

function importOf(collection: Collection<object>, document: Document<object>): RowImport {
  const { body, fields } = checkDocument(collection, document);
  const { id, organisationId: org, workspaceId, slug, version, status } = document;
  const { createdAt, updatedAt, schemaVersion } = document;
  const archived = status === 'archived' ? 1 : 0;
  const row: DocumentRow = [
    ...([id, workspaceId ?? '', slug ?? null, version, archived] as const),
    ...([createdAt, updatedAt, schemaVersion, body] as const),
  ];
  return { org, row, fields };
}
