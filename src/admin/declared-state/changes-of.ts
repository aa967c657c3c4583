// What is told of a change: to people before it is done, and to the audit log with it.
import type { ChangePart } from '../../access/audit/changes.ts';
import { diff } from '../../access/audit/diff.ts';
import type { JsonObject } from '../../store/collection.ts';
import { slugOfWorkspace } from './exported.ts';
import type { DeclaredRecord, KindDeps } from './kind.ts';
import type { NotedChange } from './staged-changes.ts';

export interface PlannedChange {
  readonly action: 'create' | 'update' | 'archive';
  readonly kind: string;
  readonly name: string;
  readonly workspace: string | undefined;
  readonly file: string;
  readonly path: string | undefined;
  readonly id: string;
  readonly members: readonly {
    readonly path: string;
    readonly before: string | undefined;
    readonly after: string | undefined;
  }[];
}

/** Members of lists that stand in the record of several calls. */
const OF_LISTS = new Set(['object', 'total', 'total_capped', 'last_updated_at']);

/** A change and its audit entry. */
export function changeOf(
  { organisationId, directory }: KindDeps,
  {
    kind,
    file,
    path,
    name,
  }: Pick<DeclaredRecord, 'kind' | 'file' | 'name'> & {
    readonly path: string | undefined;
  },
  id: string,
  action: PlannedChange['action'],
  noted: readonly NotedChange[],
): PlannedChange & { readonly part: Omit<ChangePart, 'operations'> } {
  const method = action === 'create' ? kind.create : action === 'update' ? kind.update : kind.remove;
  const own = noted.filter(({ target }) => target.id === id);
  const before = joined(own.map(({ target }) => target.before).toReversed());
  const after = joined(own.map(({ target }) => target.after));
  const workspaceId = own[0]?.target.workspaceId;
  const target = {
    id,
    name: own[0]?.target.name ?? name,
    workspaceId,
    ...(action === 'create' ? {} : { before }),
    ...(action === 'archive' ? {} : { after }),
  };
  const told = diff(action === 'create' ? undefined : before, action === 'archive' ? undefined : after);
  return {
    action,
    kind: kind.list,
    name,
    workspace: slugOfWorkspace(directory, organisationId, workspaceId),
    file,
    path,
    id,
    members:
      action === 'archive'
        ? []
        : told.changes
            .filter(({ path: at }) => !OF_LISTS.has(at))
            .map(({ path: at, before: was, after: is }) => ({
              path: at,
              before: was === undefined ? undefined : JSON.stringify(was),
              after: is === undefined ? undefined : JSON.stringify(is),
            })),
    part: { method, scope: { organisationId, workspaceId: undefined }, target },
  };
}

function joined(records: readonly (JsonObject | undefined)[]): JsonObject {
  return Object.assign({}, ...records) as JsonObject;
}
