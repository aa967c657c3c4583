// A stored API key, as the key ring takes it.
import type { ApiKeyBody } from '../../src/access/identity-collections.ts';
import type { KeyHasher } from '../../src/access/key-hash.ts';
import { secretParts } from '../../src/access/keys.ts';
import type { Principal } from '../../src/call/principal.ts';
import type { Document } from '../../src/store/documents.ts';

/** @param more `expiresAt` in Unix milliseconds */
export function keyDocument(
  hasher: KeyHasher,
  secret: string,
  principal: Principal,
  more: Partial<Document<ApiKeyBody>> & { readonly expiresAt?: number | undefined } = {},
): Document<ApiKeyBody> {
  const { organisationId, workspaceId, keyId, keyName, kind, scopes } = principal;
  const { expiresAt, ...document } = more;
  return {
    id: keyId,
    organisationId,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    version: 1,
    status: 'active',
    createdAt: 0,
    updatedAt: 0,
    schemaVersion: 1,
    body: {
      ...secretParts(hasher, secret),
      name: keyName,
      kind,
      scopes: [...scopes],
      ...(expiresAt === undefined ? {} : { expiresAt }),
    },
    ...document,
  };
}
