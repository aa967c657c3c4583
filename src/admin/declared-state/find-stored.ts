// The stored record that a declared one stands for.
import type { ManagedRecord } from '../../access/managed-records.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { allDocuments } from '../../store/every-document.ts';
import type { DeclaredRecord, Kind } from './kind.ts';

/** All records of a kind, as they were before; read once. */
export class StoredRecords {
  readonly #documents: DocumentStore;
  readonly #organisationId: string;
  readonly #lists = new Map<string, Promise<readonly Document<object>[]>>();

  constructor(documents: DocumentStore, organisationId: string) {
    this.#documents = documents;
    this.#organisationId = organisationId;
  }

  /** The oldest first. */
  of({ collection }: Kind): Promise<readonly Document<object>[]> {
    const known = this.#lists.get(collection.name);
    if (known !== undefined) return known;
    const read = this.#read(collection);
    this.#lists.set(collection.name, read);
    return read;
  }

  #read(collection: Kind['collection']): Promise<readonly Document<object>[]> {
    const scope = { organisationId: this.#organisationId, workspaceId: undefined };
    return allDocuments(this.#documents, scope, collection);
  }
}

/**
 * @param managedOf what a record was declared as, by its id
 * @throws GatewayError validation_failed where several stored records have the name
 */
export async function findStored(
  records: StoredRecords,
  { kind, slug, name }: DeclaredRecord,
  workspaceId: string | undefined,
  managedOf: (id: string) => ManagedRecord | undefined,
): Promise<Document<object> | undefined> {
  const all = await records.of(kind);
  const inPlace = (one: Document<object>): boolean => one.workspaceId === workspaceId;
  if (slug !== undefined) {
    const perWorkspace = kind.list === 'providers';
    return all.find((one) => one.slug === slug && (!perWorkspace || inPlace(one)));
  }
  const isNamed = kind.isNamed ?? ((wanted: string, stored: string) => wanted === stored);
  const found = all.filter((one) => {
    const stored = kind.storedName(one);
    return stored !== undefined && inPlace(one) && isNamed(name, stored);
  });
  const own = found.filter(({ id }) => managedOf(id) !== undefined);
  if (own.length > 0 || found.length < 2 || kind.isNamed !== undefined)
    return (own.length > 0 ? own : found).at(-1);
  throw invalidField(
    'name',
    `is the name of ${found.length} records that are stored: rename the others${kind.slugs ? ', or give its slug' : ''}`,
  );
}
