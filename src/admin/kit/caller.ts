// The caller of a control plane operation, and the part of the organisation it is over.

import type { Directory } from '../../access/directory.ts';
import type { WorkspaceBody } from '../../access/identity-collections.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';

/** The call's principal, as one of the workspace that the call names. @throws GatewayError unauthenticated when there is none. */
export function callerOf(call: Call): Principal {
  if (call.principal === undefined) throw fail('unauthenticated', 'an API key is needed');
  return call.place ?? call.principal;
}

/** What the caller may see: its workspace, or the whole organisation for organisation keys. */
export function scopeOf({ organisationId, workspaceId }: Principal): TenantScope {
  return { organisationId, workspaceId };
}

/** The whole organisation of the caller. */
export function organisationOf({ organisationId }: Principal): TenantScope {
  return { organisationId, workspaceId: undefined };
}

/**
 * The active workspace that a caller names by id or slug, when it is one that the caller may reach: a foreign
 * one, an archived one and one that never was are answered alike.
 * @throws GatewayError not_found.
 */
export function workspaceNamed(
  directory: Directory,
  principal: Principal,
  idOrSlug: string,
): Document<WorkspaceBody> {
  const found = directory.workspace(principal.organisationId, idOrSlug);
  const own = principal.workspaceId === undefined || principal.workspaceId === found?.id;
  if (found === undefined || !own) throw fail('not_found', `there is no workspace ${idOrSlug}`);
  return found;
}

/**
 * The workspace that a list or a new thing is for: a workspace's key has its own and may name no other; an
 * organisation key may name one, and must where `required`.
 * @param field the request's field, for the refusal
 * @throws GatewayError validation_failed, not_found.
 */
export function targetWorkspace(
  directory: Directory,
  principal: Principal,
  given: string | undefined,
  options: { readonly field?: string; readonly required?: boolean } = {},
): string | undefined {
  const { field = 'workspace_id', required = false } = options;
  if (given === undefined || given === '') {
    if (principal.workspaceId === undefined && required)
      throw invalidField(field, 'is needed with an organisation key', 'required');
    return principal.workspaceId;
  }
  const found = directory.workspace(principal.organisationId, given);
  const own = principal.workspaceId === undefined || principal.workspaceId === found?.id;
  if (found === undefined || !own) throw invalidField(field, 'names no workspace of the caller');
  return found.id;
}

/** The scope of a list or a lookup: the named workspace, or the caller's whole reach. @throws as targetWorkspace */
export function targetScope(
  directory: Directory,
  principal: Principal,
  given: string | undefined,
): TenantScope {
  const workspaceId = targetWorkspace(directory, principal, given);
  return { organisationId: principal.organisationId, workspaceId };
}

/** The workspace of a new thing: an organisation key that names none means the default workspace. @throws as targetWorkspace */
export function ownWorkspace(directory: Directory, principal: Principal, given: string | undefined): string {
  const workspaceId =
    targetWorkspace(directory, principal, given) ?? directory.defaultWorkspace(principal.organisationId)?.id;
  if (workspaceId === undefined)
    throw invalidField('workspace_id', 'is needed: there is no default workspace', 'required');
  return workspaceId;
}

/** Whether it is an organisation key that names a workspace which exists. */
export function isVisitor({ visiting, kind }: Principal): boolean {
  return visiting === true && kind === 'organisation-service';
}

/** The recorded maker of a change: the user, or the key of a service. */
export function authorOf({ userId, keyId }: Principal): string {
  return userId ?? keyId;
}

/** @throws GatewayError validation_failed when another organisation than the caller's is named. */
export function checkOrganisation({ organisationId }: Principal, given: string | undefined): void {
  if (given && given !== organisationId)
    throw invalidField('organisation_id', 'is not the organisation of the caller');
}

/** The thing, when it was found. @throws GatewayError not_found. */
export function found<T>(document: T | undefined, what: string): T {
  if (document === undefined) throw fail('not_found', `there is no such ${what}`);
  return document;
}
