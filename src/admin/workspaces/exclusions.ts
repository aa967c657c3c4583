// Which workspaces the organisation's default guardrails are not for.
import { create } from '@bufbuild/protobuf';
import {
  type GetWorkspaceExclusionsRequest,
  type UpdateWorkspaceExclusionsRequest,
  type WorkspaceExclusions,
  WorkspaceExclusionsSchema,
} from '../../../gen/gateway/admin/v2/workspace_exclusions_pb.ts';
import { type OrganisationBody, organisations } from '../../access/identity-collections.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { resource } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';

/** The member of the organisation's defaults that holds their ids. */
const MEMBER: Readonly<Record<string, string>> = {
  'input-guardrails': 'input_guardrail_exclusions',
  'output-guardrails': 'output_guardrail_exclusions',
};

/** The methods of WorkspaceExclusionsService. */
export function workspaceExclusionsService(deps: IdentityDeps) {
  const { directory } = deps;
  const stored = resource(deps, { collection: organisations, noun: 'organisation' });
  const own = async (call: Call, given: string | undefined): Promise<Document<OrganisationBody>> => {
    const scope = organisationOf(callerOf(call));
    if (given && given !== scope.organisationId)
      throw invalidField('organisation_id', 'is not the organisation of the caller');
    return stored.find(scope, scope.organisationId);
  };

  const answer = (organisationId: string, excluded: ReadonlySet<string>): WorkspaceExclusions =>
    create(WorkspaceExclusionsSchema, {
      workspaces: directory
        .workspaceIds(organisationId)
        .map((workspaceId) => ({ workspaceId, excluded: excluded.has(workspaceId) })),
    });

  return {
    async getWorkspaceExclusions(
      { kind, organisationId }: GetWorkspaceExclusionsRequest,
      call: Call,
    ): Promise<WorkspaceExclusions> {
      const organisation = await own(call, organisationId);
      return answer(organisation.id, excludedOf(organisation, kind));
    },

    async updateWorkspaceExclusions(
      request: UpdateWorkspaceExclusionsRequest,
      call: Call,
    ): Promise<WorkspaceExclusions> {
      return retryOnConflict(async () => {
        const { kind, workspaces, overrideExisting } = request;
        const before = await own(call, request.organisationId);
        const was = excludedOf(before, kind);
        const excluded = new Set(overrideExisting === true ? [] : was);
        for (const [i, { workspaceId, excluded: out }] of workspaces.entries()) {
          const workspace = directory.workspace(before.id, workspaceId);
          if (workspace === undefined)
            throw invalidField(`workspaces[${i}].workspace_id`, 'is no workspace of the organisation');
          if (out) excluded.add(workspace.id);
          else excluded.delete(workspace.id);
        }
        const member = MEMBER[kind]!;
        const body = { ...before.body, defaults: { ...before.body.defaults, [member]: [...excluded] } };
        await stored.update(call, before, stored.changed(before, body), {
          before: { [kind]: [...was] },
          after: { [kind]: [...excluded] },
        });
        return answer(before.id, excluded);
      });
    },
  };
}

function excludedOf({ body }: Document<OrganisationBody>, kind: string): ReadonlySet<string> {
  const ids = body.defaults?.[MEMBER[kind]!];
  return new Set(Array.isArray(ids) ? ids.map(String) : []);
}
