// The room with real sockets: references as they are kept, in memory.
import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { SecretReferences } from '../../src/secrets/references.ts';
import type { SecretReferenceBody } from '../../src/secrets/secret-collections.ts';
import { createSecrets, type SecretsDeps } from '../../src/secrets/secrets.ts';
import { loopbackDialer } from './fake-manager.ts';

export const ORGANISATION = 'org-1';

type Reference = Pick<SecretReferenceBody, 'managerType' | 'path'> & Partial<SecretReferenceBody>;

export function secretsBench(t: ExecutionContext, options: Partial<SecretsDeps> = {}) {
  const references = new SecretReferences();
  const troubles: unknown[] = [];
  const secrets = createSecrets({
    dialer: loopbackDialer(t),
    environment: {},
    now: Date.now,
    references,
    envAllow: [],
    fileAllow: [],
    ownIdentity: [],
    lifetimeMs: 60_000,
    onTrouble: (error) => troubles.push(error),
    ...options,
  });
  const add = (slug: string, body: Reference, organisationId = ORGANISATION) => {
    const document = {
      id: randomUUID(),
      organisationId,
      slug,
      version: 1,
      status: 'active' as const,
      createdAt: 0,
      updatedAt: 0,
      schemaVersion: 1,
      body: { name: slug, auth: {}, searchText: slug, createdBy: 'key', ...body },
    };
    references.replica.apply(document);
    return document;
  };
  const resolve = (slug: string, key?: string, workspaceId?: string) =>
    secrets.resolve(ORGANISATION, workspaceId, slug, key);
  return { secrets, references, add, resolve, troubles };
}
