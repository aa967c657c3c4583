// The names of workspaces, archived ones included.
import { workspaces } from '../../access/identity-collections.ts';
import type { AnalyticsDeps } from './deps.ts';

/** A workspace's names, as members of a group. */
export interface WorkspaceNames {
  readonly workspaceSlug?: string;
  readonly workspaceName?: string;
}

/** The names of an organisation's workspaces, by id; at most 1,000 at once. */
export async function workspaceNames(
  { directory, documents }: AnalyticsDeps,
  organisationId: string,
  ids: readonly string[],
): Promise<(id: string) => WorkspaceNames> {
  const names = new Map<string, WorkspaceNames>();
  const note = (found: {
    readonly id: string;
    readonly slug?: string;
    readonly body: { readonly name: string };
  }) =>
    names.set(found.id, {
      ...(found.slug === undefined ? {} : { workspaceSlug: found.slug }),
      workspaceName: found.body.name,
    });
  const archived = ids.filter((id) => {
    const active = directory.workspace(organisationId, id);
    if (active?.id === id) note(active);
    return active?.id !== id && id !== '';
  });
  if (archived.length > 0) {
    const { documents: found } = await documents.page(
      { organisationId, workspaceId: undefined },
      workspaces,
      { filter: [{ field: 'id', op: 'in', value: archived }], status: 'archived', pageSize: archived.length },
    );
    for (const document of found) note(document);
  }
  return (id) => names.get(id) ?? {};
}
