// Which workspaces may use an integration.
import type { Document } from '../../store/documents.ts';
import type { GlobalAccess, IntegrationBody } from './provider-collections.ts';

const NO_ACCESS: GlobalAccess = Object.freeze({ enabled: false });
const OWN: GlobalAccess = Object.freeze({ enabled: true });

/** The access of a workspace: its own setting, or else the setting for all others. */
export function accessOf(
  { workspaceId: own, body }: Pick<Document<IntegrationBody>, 'workspaceId' | 'body'>,
  workspaceId: string,
): GlobalAccess {
  if (body.level === 'workspace') return own === workspaceId ? OWN : NO_ACCESS;
  const { workspaces = {}, globalAccess = NO_ACCESS } = body;
  return (Object.hasOwn(workspaces, workspaceId) ? workspaces[workspaceId] : undefined) ?? globalAccess;
}
