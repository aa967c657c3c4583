// The secrets of keys that the gateway made itself: kept, encrypted, until each was used once, so that a start whose
// output is lost loses no key.
import { toGatewayError } from '../lib/errors.ts';
import { type DocumentStore, insertOperation, type WriteOperation } from '../store/documents.ts';
import { apiKeys, firstKeys } from './identity-collections.ts';
import type { KeyRing } from './key-ring.ts';

/** A key that was made here and not used since. */
export interface UnusedKey {
  readonly organisationId: string;
  readonly keyId: string;
  readonly secret: string;
}

/** Keeps the secret of a key that is being made. @param at Unix milliseconds */
export function keepOperation(keyId: string, secret: string, at: number): WriteOperation {
  return insertOperation(firstKeys, { id: keyId, createdAt: at, body: { secret } });
}

/** The secret of a key that was not used yet; undefined: it was, or it was never kept. */
export async function unusedKey(
  documents: DocumentStore,
  organisationId: string,
  keyId: string,
): Promise<UnusedKey | undefined> {
  const kept = await documents.get({ organisationId, workspaceId: undefined }, firstKeys, keyId);
  const secret = kept?.body.secret ?? '';
  return secret === '' ? undefined : { organisationId, keyId, secret };
}

/** Erases the secret. When instances do so together, each is done when one is. */
export async function forgetKey(
  documents: DocumentStore,
  organisationId: string,
  keyId: string,
  at: number,
): Promise<void> {
  const scope = { organisationId, workspaceId: undefined };
  const kept = await documents.get(scope, firstKeys, keyId);
  if (kept === undefined) return;
  try {
    const change = { body: { secret: '' }, updatedAt: at };
    const { version } = await documents.update(scope, firstKeys, keyId, kept.version, change);
    await documents.archive(scope, firstKeys, keyId, { version, updatedAt: at });
  } catch (error) {
    const { reason } = toGatewayError(error);
    if (reason !== 'version_conflict' && reason !== 'not_found') throw error;
  }
}

/** Makes the keys known at once, and erases the secret of each when it is first presented. */
export async function forgetWhenUsed(
  unused: readonly (UnusedKey | undefined)[],
  deps: {
    readonly documents: DocumentStore;
    readonly keys: KeyRing;
    readonly now: () => number;
    /** Called with an error of erasing a secret: it is shown again. */
    readonly onTrouble: (error: unknown) => void;
  },
): Promise<void> {
  const { documents, keys, now, onTrouble } = deps;
  for (const key of unused) {
    if (key === undefined) continue;
    const { organisationId, keyId } = key;
    const document = await documents.get({ organisationId, workspaceId: undefined }, apiKeys, keyId);
    if (document) keys.replica.apply(document);
    keys.whenUsed(keyId, () => {
      forgetKey(documents, organisationId, keyId, now()).catch(onTrouble);
    });
  }
}
