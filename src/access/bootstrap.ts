// The first start: one organisation, one workspace, an admin key and a workspace key.
import { randomUUID } from 'node:crypto';
import { toGatewayError } from '../lib/errors.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import {
  type ApiKeyBody,
  apiKeys,
  type OrganisationBody,
  organisations,
  type WorkspaceBody,
  workspaces,
} from './collections.ts';
import { createKey, type KeyFacts, type NewKey, secretParts, withSecret } from './keys.ts';
import { INFERENCE_SCOPES, scopesOf } from './scopes.ts';

/** What the deployment has to begin with. */
export interface Tenancy {
  readonly organisationId: string;
  readonly workspaceId: string;
  /** Secrets made just now, to be shown once; undefined when there was nothing to make. */
  readonly newAdminKey: string | undefined;
  readonly newWorkspaceKey: string | undefined;
}

const HANDLE = 'default';
const ATTEMPTS = 5;

/** Makes what is missing. A key given by a setting replaces the one that an earlier start made or was given. */
export async function bootstrap(
  facts: KeyFacts,
  given: { readonly adminKey: string | undefined; readonly workspaceKey: string | undefined },
): Promise<Tenancy> {
  const { documents, now } = facts;
  const organisation = await settled(() => ensureOrganisation(documents, now()));
  const organisationId = organisation.id;
  const workspace = await settled(() => ensureWorkspace(documents, organisationId, now()));
  const adminKey: NewKey = {
    name: 'First admin key',
    kind: 'organisation-service',
    organisationId,
    workspaceId: undefined,
    scopes: scopesOf('organisation-service'),
    bootstrap: 'admin',
  };
  const workspaceKey: NewKey = {
    name: 'First workspace key',
    kind: 'workspace-service',
    organisationId,
    workspaceId: workspace.id,
    scopes: INFERENCE_SCOPES,
    bootstrap: 'workspace',
  };
  const newAdminKey = await settled(() => ensureKey(facts, adminKey, given.adminKey));
  const newWorkspaceKey = await settled(() => ensureKey(facts, workspaceKey, given.workspaceKey));
  return { organisationId, workspaceId: workspace.id, newAdminKey, newWorkspaceKey };
}

/** Of instances that start together on an empty store one makes each thing: the others find it when they look again. */
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
    body: { name: 'Default workspace', isDefault: true },
  });
}

/** Resolves with the secret when one was made. */
async function ensureKey(
  facts: KeyFacts,
  key: NewKey,
  given: string | undefined,
): Promise<string | undefined> {
  const { documents, hasher, now } = facts;
  const scope = { organisationId: key.organisationId, workspaceId: undefined };
  const page = await documents.page(scope, apiKeys, {
    pageSize: 1,
    filter: [{ field: 'bootstrap', op: 'eq', value: key.bootstrap ?? null }],
    status: 'all',
    sort: { field: 'createdAt', order: 'desc' },
  });
  const existing: Document<ApiKeyBody> | undefined = page.documents[0];
  // Who deleted the key does not find another one printed after the next start.
  if (existing?.status === 'archived' && given === undefined) return undefined;
  if (existing === undefined || existing.status === 'archived') {
    const secret = await createKey(facts, { ...key, secret: given });
    return given === undefined ? secret : undefined;
  }
  if (given === undefined) return undefined;
  const parts = secretParts(hasher, given);
  // One that is the same and has no mask is from before there were any.
  if (existing.body.hash !== parts.hash || existing.body.mask === undefined) {
    await documents.update(scope, apiKeys, existing.id, existing.version, {
      body: withSecret(existing.body, parts),
      updatedAt: now(),
    });
  }
  return undefined;
}
