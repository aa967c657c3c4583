// Whose files and batches a call means.
import type { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import type { FileOwner } from './own-files.ts';

/** @throws GatewayError forbidden for a caller without a workspace */
export function ownerOf({ principal }: Pick<Call, 'principal'>): FileOwner {
  if (principal?.workspaceId === undefined) throw fail('forbidden', "a workspace's key is needed");
  return { organisationId: principal.organisationId, workspaceId: principal.workspaceId };
}
