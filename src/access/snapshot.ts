// What identity keeps in memory, filled from the store and following its changes.
import type { ChangeFeed } from '../store/change-feed.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import { follow } from '../store/follow.ts';
import type { DocumentMaintenance } from '../store/maintenance.ts';
import { DIRECTORY_COLLECTIONS, type Directory } from './directory.ts';
import { type ApiKeyBody, apiKeys, organisations } from './identity-collections.ts';
import { type JwtSettingsBody, jwtSettings } from './jwt/collection.ts';
import type { Tokens } from './jwt/tokens.ts';
import type { KeyRing } from './key-ring.ts';
import { keyRecord } from './keys.ts';

/** Keys, the directory, and what tokens are verified with. */
export interface Snapshot {
  readonly keys: KeyRing;
  readonly directory: Directory;
  readonly tokens: Pick<Tokens, 'apply'>;
}

/** Takes a document as it is now, archived ones too; an older version changes nothing. */
export function applyDocument(
  { keys, directory, tokens }: Snapshot,
  collection: string,
  document: Document<object>,
): void {
  if (collection === jwtSettings.name) tokens.apply(document as Document<JwtSettingsBody>);
  else if (collection !== apiKeys.name) directory.apply(collection, document);
  else if (document.status === 'archived') keys.remove(document.id, document.version);
  else keys.put(keyRecord(document as Document<ApiKeyBody>));
}

/** Ids of every organisation of the deployment. */
export async function organisationIds(maintenance: DocumentMaintenance): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const batch = await maintenance.scan(organisations, {
      limit: 1000,
      ...(after === undefined ? {} : { after }),
    });
    for (const { document } of batch.documents) if (document.status === 'active') ids.push(document.id);
    after = batch.next;
  } while (after !== undefined);
  return ids;
}

/** What following needs. */
export interface SnapshotDeps {
  readonly feed: ChangeFeed;
  readonly documents: DocumentStore;
  /** Knows which organisations there are. */
  readonly maintenance: DocumentMaintenance;
  readonly snapshot: Snapshot;
  /** Called when the store could not be read; it is retried until it can. */
  readonly onError: (error: unknown) => void;
}

/** Reads everything that the organisations have and follows its changes; resolves with how to stop. */
export function followSnapshot(deps: SnapshotDeps): Promise<() => void> {
  const { feed, documents, maintenance, snapshot, onError } = deps;
  return follow({
    feed,
    documents,
    collections: [...DIRECTORY_COLLECTIONS, jwtSettings, apiKeys],
    organisations: () => organisationIds(maintenance),
    apply: (collection, document) => applyDocument(snapshot, collection.name, document),
    onError,
  });
}
