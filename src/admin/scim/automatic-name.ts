// Groups whose names say what they are for: `ws-<workspace's slug>-role-<role>` (admin-api facts, part 7.6).
import type { WorkspaceRole } from '../../access/identity-collections.ts';

const PATTERN = /^ws-(.{1,200})-role-(admin|manager|member)$/i;

/** The workspace and the role that a name says; undefined for other names. */
export function namedPlace(
  name: string,
): { readonly workspace: string; readonly role: WorkspaceRole } | undefined {
  const [, workspace, role] = PATTERN.exec(name) ?? [];
  if (workspace === undefined || role === undefined) return undefined;
  return { workspace, role: role.toLowerCase() as WorkspaceRole };
}
