// Documents with secrets, and stores that hold them.
import { randomBytes } from 'node:crypto';
import { type EncryptionKeys, openEncryptionKeys } from '../../src/access/encryption-keys.ts';
import { encryptionKeys } from '../../src/access/key-bundle.ts';
import { masterKey } from '../../src/access/master-key.ts';
import { type Collection, defineCollection } from '../../src/store/collection.ts';
import type { DocumentStore } from '../../src/store/documents.ts';
import { encryptedDocuments } from '../../src/store/encrypted-documents.ts';
import type { DocumentMaintenance } from '../../src/store/maintenance.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import type { UnreadableSecret } from '../../src/store/sealed-body.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';

export interface Vault {
  readonly name: string;
  readonly credentials: unknown;
  readonly count?: number;
}

export const vaults = defineCollection<Vault>({
  name: 'vaults',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text' }],
  secret: ['credentials'],
});

/** Its secrets were none when its first documents were written. */
export const formerVaults = defineCollection<Vault>({
  name: 'former_vaults',
  schemaVersion: 1,
  secret: [{ path: 'credentials', formerlyPlain: true }],
});

export const rotationCollections: readonly Collection<object>[] = [vaults, encryptionKeys, formerVaults];

export interface VaultStore {
  readonly documents: DocumentStore;
  readonly maintenance: DocumentMaintenance;
  close(): Promise<void>;
}

/** A directory, or `address#database`. */
export function openAt(place: string): Promise<VaultStore> {
  if (!place.startsWith('mongodb'))
    return openSqliteStore({ dataDir: place, collections: rotationCollections });
  const [uri = '', database = ''] = place.split('#');
  return openMongoStore({ uri, database, collections: rotationCollections, deadlineMs: 20_000 });
}

/** One instance's view of a store. */
export interface Instance {
  readonly keys: EncryptionKeys;
  readonly documents: DocumentStore;
  readonly heard: UnreadableSecret[];
}

export async function instanceOn(store: VaultStore, master: Uint8Array, freshMs = 100): Promise<Instance> {
  const heard: UnreadableSecret[] = [];
  const keys = await openEncryptionKeys({
    documents: store.documents,
    master: masterKey(master),
    now: Date.now,
    freshMs,
  });
  const onUnreadable = (secret: UnreadableSecret): void => void heard.push(secret);
  return { keys, heard, documents: encryptedDocuments(store.documents, { keys, onUnreadable }) };
}

export const newMaster = (): Buffer => randomBytes(32);
export const scope = { organisationId: 'tenant', workspaceId: undefined };

/** Credentials that tell which document and which write they are of. */
export function credentialsOf(id: string, count: number): { id: string; count: number; mark: string } {
  return { id, count, mark: 'plain-as-day' };
}

export async function fill(documents: DocumentStore, count: number, prefix = 'v'): Promise<void> {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  for (let i = 0; i < count; i += 100) {
    await documents.commit(
      scope,
      ids.slice(i, i + 100).map((id) => ({
        kind: 'insert',
        collection: vaults,
        document: { id, createdAt: 1, body: { name: id, credentials: credentialsOf(id, 0), count: 0 } },
      })),
    );
  }
}

/** Key ids by which the stored secrets are sealed, with how many of each. */
export async function sealedBy(maintenance: DocumentMaintenance): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let after: string | undefined;
  do {
    const batch = await maintenance.scan(vaults, { after, limit: 1000 });
    for (const { document } of batch.documents) {
      const keyId = String((document.body as Vault).credentials).split(':')[2] ?? 'none';
      counts[keyId] = (counts[keyId] ?? 0) + 1;
    }
    after = batch.next;
  } while (after !== undefined);
  return counts;
}
