// The first start: one organisation, one workspace, an admin key and a workspace key.
import { randomUUID } from 'node:crypto';
import { toGatewayError } from '../lib/errors.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import { forgetKey, keepOperation, type UnusedKey, unusedKey } from './first-keys.ts';
import {
  type ApiKeyBody,
  apiKeys,
  type OrganisationBody,
  organisations,
  type WorkspaceBody,
  workspaces,
} from './identity-collections.ts';
import { createKey, type KeyDeps, type NewKey, secretParts, withSecret } from './keys.ts';
import { INFERENCE_SCOPES, scopesOf } from './scopes.ts';

/** What the deployment has to begin with. */
export interface Tenancy {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** Keys that the gateway made itself and that were not used yet; undefined: there is none, or it is used. */
export interface FirstKeys {
  readonly admin: UnusedKey | undefined;
  readonly workspace: UnusedKey | undefined;
}

/** The keys that the settings give. */
export interface GivenKeys {
  readonly adminKey: string | undefined;
  readonly workspaceKey: string | undefined;
}

const HANDLE = 'default';
const ATTEMPTS = 5;

/** Makes the first organisation and workspace where there are none. */
export async function ensureTenancy({ documents, now }: KeyDeps): Promise<Tenancy> {
  const { id: organisationId } = await settled(() => ensureOrganisation(documents, now()));
  const workspace = await settled(() => ensureWorkspace(documents, organisationId, now()));
  return { organisationId, workspaceId: workspace.id };
}

/** Stores the keys that settings give. Each replaces the one that an earlier start made or was given. */
export async function storeGivenKeys(deps: KeyDeps, tenancy: Tenancy, given: GivenKeys): Promise<void> {
  const { adminKey, workspaceKey } = given;
  if (adminKey !== undefined) await settled(() => storeGiven(deps, adminKeyOf(tenancy), adminKey));
  if (workspaceKey !== undefined)
    await settled(() => storeGiven(deps, workspaceKeyOf(tenancy), workspaceKey));
}

/** Makes the keys that neither settings give nor an earlier start made. Answers those that were never used. */
export async function ensureFirstKeys(deps: KeyDeps, tenancy: Tenancy, given: GivenKeys): Promise<FirstKeys> {
  const ensure = (key: NewKey, own: string | undefined): Promise<UnusedKey | undefined> | undefined =>
    own === undefined ? settled(() => ensureKey(deps, key)) : undefined;
  return {
    admin: await ensure(adminKeyOf(tenancy), given.adminKey),
    workspace: await ensure(workspaceKeyOf(tenancy), given.workspaceKey),
  };
}

function adminKeyOf({ organisationId }: Tenancy): NewKey {
  return {
    name: 'First admin key',
    kind: 'organisation-service',
    organisationId,
    workspaceId: undefined,
    scopes: scopesOf('organisation-service'),
    bootstrap: 'admin',
  };
}

function workspaceKeyOf({ organisationId, workspaceId }: Tenancy): NewKey {
  return {
    name: 'First workspace key',
    kind: 'workspace-service',
    organisationId,
    workspaceId,
    scopes: INFERENCE_SCOPES,
    bootstrap: 'workspace',
  };
}

/** When instances start together on an empty store, one makes each thing: the others find it when they read again. */
async function settled<T>(ensure: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ensure();
    } catch (error) {
      const { reason } = toGatewayError(error);
      if (attempt === ATTEMPTS || (reason !== 'conflict' && reason !== 'version_conflict')) throw error;
    }
  }
}

async function ensureOrganisation(
  documents: DocumentStore,
  now: number,
): Promise<Document<OrganisationBody>> {
  const found = await documents.findByUnique(organisations, 'handle', HANDLE);
  if (found) return found;
  const id = randomUUID();
  return documents.insert({ organisationId: id, workspaceId: undefined }, organisations, {
    id,
    createdAt: now,
    body: { handle: HANDLE, name: 'Default organisation' },
  });
}

async function ensureWorkspace(
  documents: DocumentStore,
  organisationId: string,
  now: number,
): Promise<Document<WorkspaceBody>> {
  const scope = { organisationId, workspaceId: undefined };
  const found = await documents.get(scope, workspaces, HANDLE);
  if (found?.body.isDefault) return found;
  if (found) {
    const change = { body: { ...found.body, isDefault: true }, updatedAt: now };
    return documents.update(scope, workspaces, found.id, found.version, change);
  }
  return documents.insert(scope, workspaces, {
    id: randomUUID(),
    slug: HANDLE,
    createdAt: now,
    body: { name: 'Default workspace', uniqueName: 'Default workspace', isDefault: true },
  });
}

async function ensureKey(deps: KeyDeps, key: NewKey): Promise<UnusedKey | undefined> {
  const { documents, now } = deps;
  const { organisationId } = key;
  const existing = await bootstrapKey(documents, key);
  if (existing === undefined) {
    let keyId = '';
    const secret = await createKey(deps, key, ({ document, secret }) => {
      keyId = document.id;
      return [keepOperation(keyId, secret, document.createdAt)];
    });
    return { organisationId, keyId, secret };
  }
  // A key that was deleted is not replaced by another one at the next start.
  const unused = await unusedKey(documents, organisationId, existing.id);
  if (unused === undefined) return undefined;
  if (existing.status === 'active' && deps.hasher.hash(unused.secret) === existing.body.hash) return unused;
  await forgetKey(documents, organisationId, existing.id, now());
  return undefined;
}

async function storeGiven(deps: KeyDeps, key: NewKey, given: string): Promise<void> {
  const { documents, hasher, now } = deps;
  const existing = await bootstrapKey(documents, key);
  if (existing === undefined || existing.status === 'archived') {
    await createKey(deps, { ...key, secret: given });
    return;
  }
  const parts = secretParts(hasher, given);
  // An equal one without a mask is older than masks.
  if (existing.body.hash === parts.hash && existing.body.mask !== undefined) return;
  const scope = { organisationId: key.organisationId, workspaceId: undefined };
  await documents.update(scope, apiKeys, existing.id, existing.version, {
    body: withSecret(existing.body, parts),
    updatedAt: now(),
  });
  await forgetKey(documents, key.organisationId, existing.id, now());
}

/** The newest key of its kind that a start made or was given, deleted ones included. */
async function bootstrapKey(
  documents: DocumentStore,
  { organisationId, bootstrap }: NewKey,
): Promise<Document<ApiKeyBody> | undefined> {
  const page = await documents.page({ organisationId, workspaceId: undefined }, apiKeys, {
    pageSize: 1,
    filter: [{ field: 'bootstrap', op: 'eq', value: bootstrap ?? null }],
    status: 'all',
    sort: { field: 'createdAt', order: 'desc' },
  });
  return page.documents[0];
}
