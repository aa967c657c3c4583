// Declared state: planned, applied, exported.
import { create } from '@bufbuild/protobuf';
import {
  type ApplyDeclaredStateRequest,
  DeclaredChangeSchema,
  type DeclaredChanges,
  DeclaredChangesSchema,
  type DeclaredFile,
  DeclaredStateService,
  type ExportDeclaredStateRequest,
  type ExportedState,
  ExportedStateSchema,
  type PlanDeclaredStateRequest,
} from '../../../gen/gateway/admin/v2/declared_state_pb.ts';
import type { ChangePart, UnitOfChanges } from '../../access/audit/changes.ts';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import { mapInSlices } from '../../lib/time-slices.ts';
import type { JsonObject } from '../../store/collection.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import type { PlannedChange } from './changes-of.ts';
import { exportState } from './export-state.ts';
import { type Declared, type WorkedOut, type WorkOutDeps, workOut } from './work-out.ts';

export interface DeclaredStateDeps extends WorkOutDeps {
  readonly directory: Directory;
  readonly changes: UnitOfChanges;
}

/** The methods of DeclaredStateService. */
export function declaredStateService(deps: DeclaredStateDeps) {
  return {
    async planDeclaredState(request: PlanDeclaredStateRequest, call: Call): Promise<DeclaredChanges> {
      const { changes } = await workOut(deps, call, declaredOf(request));
      return changesMessage(changes, false);
    },

    async applyDeclaredState(request: ApplyDeclaredStateRequest, call: Call): Promise<DeclaredChanges> {
      return changesMessage(await applyDeclared(deps, call, declaredOf(request)), true);
    },

    async exportDeclaredState(_request: ExportDeclaredStateRequest, call: Call): Promise<ExportedState> {
      const { organisationId } = callerOf(call);
      const { documents, directory } = deps;
      const document = await exportState(documents, { organisationId, directory });
      return create(ExportedStateSchema, { document: document as Record<string, never> });
    },
  };
}

/**
 * Makes what is stored as declared, in one unit of work. Begins again when others changed the same records meanwhile.
 * @throws GatewayError validation_failed with every fault
 */
export async function applyDeclared(
  deps: DeclaredStateDeps,
  call: Call,
  declared: Declared,
): Promise<readonly PlannedChange[]> {
  const scope = organisationOf(callerOf(call));
  return retryOnConflict(async () => {
    const { changes, parts, ownership } = await workOut(deps, call, declared);
    const all = joined(parts, ownership, declared.source);
    if (all.length > 0) await deps.changes.commitAll(call, scope.organisationId, all);
    // An apply that changes nothing leaves no entry.
    call.audited = true;
    return changes;
  });
}

/** Which records come from which file is written with the last change; alone it has an entry of its own. */
function joined(
  parts: readonly ChangePart[],
  ownership: WorkedOut['ownership'],
  source: string,
): readonly ChangePart[] {
  if (ownership.length === 0) return parts;
  const last = parts.at(-1);
  if (last !== undefined)
    return [...parts.slice(0, -1), { ...last, operations: [...last.operations, ...ownership] }];
  const method = DeclaredStateService.method.applyDeclaredState;
  const target = { id: source, name: source };
  return [{ method, scope: { organisationId: '', workspaceId: undefined }, operations: ownership, target }];
}

interface GivenState {
  readonly source: string;
  readonly files: readonly DeclaredFile[];
  readonly secrets: Readonly<Record<string, string>>;
}

function declaredOf({ source, files, secrets }: GivenState): Declared {
  return {
    source,
    files: files.map(({ name, document }) => ({ name, document: (document ?? {}) as JsonObject })),
    secrets,
  };
}

async function changesMessage(changes: readonly PlannedChange[], applied: boolean): Promise<DeclaredChanges> {
  return create(DeclaredChangesSchema, {
    object: 'declared-changes',
    applied,
    changes: await mapInSlices(changes, ({ action, kind, name, workspace, file, path, id, members }) =>
      create(DeclaredChangeSchema, {
        action,
        kind,
        name,
        file,
        id,
        ...(workspace === undefined ? {} : { workspace }),
        ...(path === undefined ? {} : { path }),
        members: members.map(({ path: at, before, after }) => ({
          path: at,
          ...(before === undefined ? {} : { before }),
          ...(after === undefined ? {} : { after }),
        })) as never,
      }),
    ),
  });
}
