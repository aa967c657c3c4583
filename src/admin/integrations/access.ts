// Which integrations a caller sees and may change: each level has scopes of its own.

import type { Directory } from '../../access/directory.ts';
import { type IntegrationBody, integrations } from '../../access/providers/provider-collections.ts';
import { accessOf } from '../../access/providers/workspace-access.ts';
import { checkRole } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { isVisitor, organisationOf } from '../kit/caller.ts';
import type { ProviderDeps } from '../providers/deps.ts';

export type IntegrationVerb = 'create' | 'list' | 'read' | 'update' | 'delete';
export type IntegrationLevel = IntegrationBody['level'];

/** @throws GatewayError forbidden. */
export function requireLevel(
  directory: Directory,
  caller: Principal,
  level: IntegrationLevel,
  verb: IntegrationVerb,
): void {
  const scope = `${level}_integrations.${verb}`;
  if (!caller.scopes.has(scope)) throw fail('forbidden', `the key lacks the scope ${scope}`);
  checkRole(directory, caller, [scope]);
}

/** The levels that the caller may list. */
export function listedLevels(directory: Directory, caller: Principal): readonly IntegrationLevel[] {
  return (['organisation', 'workspace'] as const).filter((level) => {
    try {
      requireLevel(directory, caller, level, 'list');
      return true;
    } catch (thrown) {
      if (thrown instanceof GatewayError && thrown.reason === 'forbidden') return false;
      throw thrown;
    }
  });
}

/** An organisation key that names a workspace sees that one's and the organisation's own, also those it may not use there. */
function isSeen(caller: Principal, document: Document<IntegrationBody>): boolean {
  const { workspaceId } = caller;
  if (workspaceId === undefined) return true;
  return (isVisitor(caller) && document.workspaceId === undefined) || accessOf(document, workspaceId).enabled;
}

/**
 * The stored integration that a caller names by id or slug, when it sees it and may do so.
 * @throws GatewayError not_found, forbidden.
 */
export async function findIntegration(
  { documents, directory }: ProviderDeps,
  caller: Principal,
  idOrSlug: string,
  verb: IntegrationVerb,
): Promise<Document<IntegrationBody>> {
  const found = await documents.get(organisationOf(caller), integrations, idOrSlug);
  const seen = found !== undefined && isSeen(caller, found);
  if (!seen) throw fail('not_found', 'there is no such integration');
  requireLevel(directory, caller, found.body.level, verb);
  return found;
}
