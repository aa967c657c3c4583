// The document port with encryption at rest: what a collection declares secret is sealed before an adapter sees
// it and opened when it comes back. Collections without secrets pass through untouched.
//
// A secret that cannot be opened (a key that is gone, a value that was changed or moved) takes nothing else down:
// its document is read and listed as ever, looking at the secret itself throws an error that names the key, and
// `onUnreadable` hears of each. An update that brings a new value repairs it.
import type { TenantScope } from '../call/scope.ts';
import { mapInSlices, nextSlice } from '../lib/time-slices.ts';
import type { Collection } from './collection.ts';
import { bodyText } from './document-checks.ts';
import type { Document, DocumentStore, WriteOperation } from './documents.ts';
import { overCommit } from './over-commit.ts';
import { type DataKeys, openedBody, sealedBody, type UnreadableSecret } from './sealed-body.ts';

export interface Encryption {
  readonly keys: DataKeys;
  /** Told at every read of a secret that cannot be opened. */
  readonly onUnreadable: (secret: UnreadableSecret) => void;
}

/** The limit of a body holds twice: for what the caller gives, and for what is stored, which is a third longer. */
export function encryptedDocuments(documents: DocumentStore, encryption: Encryption): DocumentStore {
  const { keys, onUnreadable } = encryption;

  async function opened<B extends object>(
    collection: Collection<B>,
    document: Document<B>,
  ): Promise<Document<B>> {
    if (collection.secret.length === 0) return document;
    const owner = { organisationId: document.organisationId, collection, id: document.id };
    const { body, unreadable } = await openedBody(keys, owner, document.body);
    unreadable.forEach(onUnreadable);
    return { ...document, body: body as B };
  }

  /** The operation as it is stored, and its body as the caller means it. */
  async function sealed(
    scope: TenantScope,
    operation: WriteOperation,
  ): Promise<{ operation: WriteOperation; body?: object }> {
    if (operation.kind === 'archive' || operation.collection.secret.length === 0) return { operation };
    const { organisationId } = scope;
    const { collection } = operation;
    const id = operation.kind === 'insert' ? operation.document.id : operation.id;
    const given = operation.kind === 'insert' ? operation.document : operation.change;
    // What JSON makes of it is what is sealed and what is answered.
    const plain: object = JSON.parse(bodyText(given.body));
    await nextSlice();
    const body = sealedBody(await keys.current(), { organisationId, collection, id }, plain);
    if (operation.kind === 'insert') {
      return { operation: { ...operation, document: { ...operation.document, body } }, body: plain };
    }
    return { operation: { ...operation, change: { ...operation.change, body } }, body: plain };
  }

  async function commit(
    scope: TenantScope,
    operations: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]> {
    if (operations.every(({ collection }) => collection.secret.length === 0)) {
      return documents.commit(scope, operations);
    }
    const writes = await mapInSlices(operations, (operation) => sealed(scope, operation));
    const written = await documents.commit(
      scope,
      writes.map(({ operation }) => operation),
    );
    return mapInSlices(written, (document, index) => {
      const { operation, body } = writes[index] as (typeof writes)[number];
      return body === undefined ? opened(operation.collection, document) : { ...document, body };
    });
  }

  return {
    ...overCommit(commit),

    get: async (scope, collection, idOrSlug, options) => {
      const document = await documents.get(scope, collection, idOrSlug, options);
      return document && opened(collection, document);
    },

    page: async (scope, collection, query) => {
      const page = await documents.page(scope, collection, query);
      if (collection.secret.length === 0) return page;
      return {
        ...page,
        documents: await mapInSlices(page.documents, (document) => opened(collection, document)),
      };
    },

    findByUnique: async (collection, field, value) => {
      const document = await documents.findByUnique(collection, field, value);
      return document && opened(collection, document);
    },
  };
}
