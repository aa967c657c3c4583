// Another tenant: its organisation, owner, default workspace and first admin key, in one unit of work with the
// first entry of its audit log.
import { randomUUID } from 'node:crypto';
import { insertOperation, type WriteOperation } from '../store/documents.ts';
import { systemAction } from './audit/audited-call.ts';
import type { Chain } from './audit/chain.ts';
import { apiKeys, organisations, users, workspaces } from './identity-collections.ts';
import type { KeyHasher } from './key-hash.ts';
import { makeKey } from './keys.ts';
import { scopesOf } from './scopes.ts';

/** The description of a new organisation. */
export interface NewOrganisation {
  /** Unique in the deployment. */
  readonly handle: string;
  readonly name: string;
  readonly ownerEmail: string;
  readonly ownerFirstName: string;
  readonly ownerLastName: string;
}

/** What was made. */
export interface MadeOrganisation {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Shown once and kept nowhere. */
  readonly adminKey: string;
}

/**
 * Makes an organisation.
 * @throws GatewayError conflict when the handle is taken.
 */
export async function createOrganisation(
  { chain, hasher, now }: { readonly chain: Chain; readonly hasher: KeyHasher; readonly now: () => number },
  given: NewOrganisation,
): Promise<MadeOrganisation> {
  const createdAt = now();
  const [organisationId, workspaceId, ownerId] = [randomUUID(), randomUUID(), randomUUID()];
  const { secret, document } = makeKey(
    hasher,
    {
      name: 'First admin key',
      kind: 'organisation-service',
      organisationId,
      workspaceId: undefined,
      scopes: scopesOf('organisation-service'),
    },
    createdAt,
  );
  const operations: readonly WriteOperation[] = [
    insertOperation(organisations, {
      id: organisationId,
      createdAt,
      body: { handle: given.handle, name: given.name },
    }),
    insertOperation(users, {
      id: ownerId,
      createdAt,
      body: {
        email: given.ownerEmail.toLowerCase(),
        firstName: given.ownerFirstName,
        lastName: given.ownerLastName,
        role: 'owner',
      },
    }),
    insertOperation(workspaces, {
      id: workspaceId,
      slug: 'default',
      createdAt,
      body: { name: 'Default workspace', uniqueName: 'Default workspace', isDefault: true },
    }),
    insertOperation(apiKeys, document),
  ];
  const record = systemAction(createdAt, 'create', 'organisation', { id: organisationId, name: given.name });
  await chain.append(organisationId, record, operations);
  return { organisationId, workspaceId, ownerId, adminKey: secret };
}
