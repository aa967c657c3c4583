// The default collection of every workspace. It is stored once another one joins it; until then it is computed.
import type { Directory } from '../../access/directory.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField, type Reason } from '../../lib/errors.ts';
import { type CollectionBody, promptCollections } from '../../prompts/prompt-collections.ts';
import { derivedId } from '../../prompts/universal-labels.ts';
import type { Document, DocumentStore, WriteOperation } from '../../store/documents.ts';
import { insertOf } from '../kit/resource.ts';
import { LOST_RACE } from '../kit/retry-on-conflict.ts';

/** The reasons of a commit that lost a race, also in storing the default collection. */
export const CREATED_MEANWHILE: ReadonlySet<Reason> = new Set([...LOST_RACE, 'conflict']);

export interface CollectionDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
}

/** A workspace. */
export interface WorkspaceScope extends TenantScope {
  readonly workspaceId: string;
}

/** The default collection of a workspace as it begins. */
export function firstCollection(
  { directory }: Pick<CollectionDeps, 'directory'>,
  { organisationId, workspaceId }: WorkspaceScope,
): Document<CollectionBody> {
  const id = derivedId(`collection ${workspaceId}`);
  const createdAt = directory.workspace(organisationId, workspaceId)?.createdAt ?? 0;
  return {
    id,
    organisationId,
    workspaceId,
    slug: `co-defaul-${id.slice(0, 6)}`,
    version: 0,
    status: 'active',
    createdAt,
    updatedAt: createdAt,
    schemaVersion: 1,
    body: { name: 'default', isDefault: true },
  };
}

/** The operations that store the default collection; none when it is stored. */
export async function keepDefault(deps: CollectionDeps, scope: WorkspaceScope): Promise<WriteOperation[]> {
  const first = firstCollection(deps, scope);
  const kept = await deps.documents.get(scope, promptCollections, first.id);
  return kept === undefined ? [insertOf(promptCollections, first)] : [];
}

/** A collection of the scope, by id or slug; version 0 for a default one that is not stored yet. */
export async function findCollection(
  deps: CollectionDeps,
  scope: TenantScope,
  idOrSlug: string,
): Promise<Document<CollectionBody> | undefined> {
  const { organisationId, workspaceId } = scope;
  const kept = await deps.documents.get(scope, promptCollections, idOrSlug);
  if (kept !== undefined) return kept;
  const workspaces = workspaceId === undefined ? deps.directory.workspaceIds(organisationId) : [workspaceId];
  return workspaces
    .map((id) => firstCollection(deps, { organisationId, workspaceId: id }))
    .find(({ id, slug }) => id === idOrSlug || slug === idOrSlug);
}

/** Id of a collection that a request names. @throws GatewayError validation_failed */
export async function collectionNamed(
  deps: CollectionDeps,
  scope: TenantScope,
  given: string,
): Promise<string> {
  const found = await findCollection(deps, scope, given);
  if (found === undefined) throw invalidField('collection_id', 'names no collection of the workspace');
  return found.id;
}

/** Id of a parent. @throws GatewayError not_found */
export async function parentFor(deps: CollectionDeps, scope: WorkspaceScope, given: string): Promise<string> {
  const found = await findCollection(deps, scope, given);
  if (found === undefined)
    throw fail('not_found', 'there is no such collection', { param: 'parent_collection_id' });
  return found.id;
}
