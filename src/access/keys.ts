// API keys in the document store, and the ring filled from it.
import { randomUUID } from 'node:crypto';
import { fail } from '../lib/errors.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import type { TenantScope } from '../store/scope.ts';
import type { Notice } from '../store/shared-state.ts';
import { type ApiKeyBody, apiKeys } from './collections.ts';
import { type KeyHasher, keyHint, newApiKey } from './key-hash.ts';
import type { KeyRecord, KeyRing } from './key-ring.ts';
import type { KeyKind } from './principal.ts';
import { scopesOf } from './scopes.ts';

/** What a new key is to be. */
export interface NewKey {
  readonly name: string;
  readonly kind: KeyKind;
  readonly organisationId: string;
  /** Needed for workspace kinds, absent for the others. */
  readonly workspaceId: string | undefined;
  readonly scopes: readonly string[];
  readonly bootstrap?: 'admin' | 'workspace';
  /** The key's own text; made when absent. */
  readonly secret?: string | undefined;
}

/** What a key is made with. */
export interface KeyFacts {
  readonly documents: DocumentStore;
  readonly hasher: KeyHasher;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Tells other instances. */
  readonly publish?: ((notice: Notice) => Promise<void>) | undefined;
}

/**
 * Stores a new key. Resolves with its secret, which is shown once and kept nowhere.
 * @throws GatewayError validation_failed for scopes that the kind may not hold.
 */
export async function createKey({ documents, hasher, now, publish }: KeyFacts, key: NewKey): Promise<string> {
  const allowed = new Set(scopesOf(key.kind));
  const foreign = key.scopes.filter((scope) => !allowed.has(scope));
  if (foreign.length > 0) {
    throw fail(
      'validation_failed',
      `scopes: a key of the kind ${key.kind} cannot hold ${foreign.join(', ')}`,
      { param: 'scopes' },
    );
  }
  const secret = key.secret ?? newApiKey();
  const body: ApiKeyBody = {
    name: key.name,
    kind: key.kind,
    hash: hasher.hash(secret),
    hint: keyHint(secret),
    scopes: [...key.scopes],
    ...(key.bootstrap ? { bootstrap: key.bootstrap } : {}),
  };
  const scope = { organisationId: key.organisationId, workspaceId: key.workspaceId };
  const made = await documents.insert(scope, apiKeys, { id: randomUUID(), createdAt: now(), body });
  await publish?.(keyNotice(made));
  return secret;
}

/** Puts every active key of an organisation into the ring. */
export async function loadKeys(
  documents: DocumentStore,
  organisationId: string,
  ring: KeyRing,
): Promise<void> {
  const scope: TenantScope = { organisationId, workspaceId: undefined };
  let cursor: string | undefined;
  do {
    const page = await documents.page(scope, apiKeys, {
      pageSize: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const document of page.documents) ring.put(keyRecord(document));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** What other instances are told of a key's new version. */
export function keyNotice({ id, organisationId, version }: Document<ApiKeyBody>): Notice {
  return { organisationId, collection: apiKeys.name, id, version };
}

/** A stored key as the ring keeps it. */
export function keyRecord({
  id,
  version,
  organisationId,
  workspaceId,
  body,
}: Document<ApiKeyBody>): KeyRecord {
  return {
    hash: body.hash,
    hint: body.hint,
    expiresAt: body.expiresAt,
    version,
    principal: {
      organisationId,
      workspaceId,
      keyId: id,
      keyName: body.name,
      kind: body.kind,
      scopes: new Set(body.scopes),
    },
  };
}
