// All that is stored, as one document of declared state: the same one as long as nothing changes.
import { mapInSlices, nextSlice } from '../../lib/time-slices.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { StoredRecords } from './find-stored.ts';
import type { KindDeps } from './kind.ts';
import { KINDS, LISTS } from './kinds.ts';
import { OwnedRecords } from './owned-records.ts';

/** The document. It holds no secrets. */
export async function exportState(
  documents: DocumentStore,
  deps: Pick<KindDeps, 'organisationId' | 'directory'>,
): Promise<JsonObject> {
  const { organisationId } = deps;
  const stored = new StoredRecords(documents, organisationId);
  const owned = await OwnedRecords.read(documents, organisationId, '');
  const kinds: KindDeps = {
    ...deps,
    documents,
    records: [],
    run: () => Promise.reject(new Error('an export changes nothing')),
  };
  const lists = new Map<string, JsonObject[]>();
  for (const kind of KINDS) {
    const seen = new Set<string>();
    for (const document of await stored.of(kind)) {
      const next = nextSlice();
      if (next !== undefined) await next;
      const record = owned.of(document.id)?.declared ?? (await kind.exported(document, kinds));
      if (record === undefined) continue;
      // What has no slug is found by its name: of several with one name the file can say one.
      const found = kind.slugs ? undefined : `${kind.storedName(document)} ${document.workspaceId}`;
      if (found !== undefined && seen.has(found)) continue;
      if (found !== undefined) seen.add(found);
      const list = lists.get(kind.list);
      if (list === undefined) lists.set(kind.list, [record]);
      else list.push(record);
    }
  }
  const document: Record<string, JsonObject[] | number> = { version: 1 };
  for (const list of LISTS) {
    const records = lists.get(list);
    if (records !== undefined) document[list] = await inOrder(records);
  }
  return document;
}

async function inOrder(records: readonly JsonObject[]): Promise<JsonObject[]> {
  const placed = await mapInSlices(records, (record) => ({ record, place: placeOf(record) }));
  return placed.sort((a, b) => (a.place < b.place ? -1 : 1)).map(({ record }) => record);
}

function placeOf({ kind, workspace, slug, name, provider, model, effective_from: from }: JsonObject): string {
  return JSON.stringify([kind, workspace, slug, name, provider, model, from].map((part) => part ?? ''));
}
