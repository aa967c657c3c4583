// Workspaces: made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateWorkspaceRequest,
  type DeleteWorkspaceRequest,
  type DeleteWorkspaceResponse,
  DeleteWorkspaceResponseSchema,
  type GetWorkspaceRequest,
  type ListWorkspacesRequest,
  type UpdateWorkspaceRequest,
  type UpdateWorkspaceResponse,
  UpdateWorkspaceResponseSchema,
  type Workspace,
  type WorkspaceList,
  WorkspaceListSchema,
  WorkspaceSchema,
} from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import { members, type WorkspaceBody, workspaces } from '../../access/identity-collections.ts';
import { governs } from '../../access/roles.ts';
import type { Call } from '../../call/call.ts';
import type { UsageReader } from '../../ledger/limits/usage.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { type Condition, type Document, insertOperation } from '../../store/documents.ts';
import { WORKSPACE_RULES } from '../kit/bound-rules.ts';
import { bounded } from '../kit/bounds.ts';
import { callerOf, organisationOf, workspaceNamed } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, statusOf } from '../kit/lists.ts';
import { type Resource, resource, shownAs } from '../kit/resource.ts';
import { newSlug } from '../kit/slug.ts';
import { changedBody, newBody } from './body.ts';
import { contentsOf } from './contents.ts';
import { checkDefaults } from './defaults.ts';
import { withOwnName } from './name.ts';
import { workspaceRecord, workspaceUsage } from './record.ts';
import { workspaceUsers } from './user.ts';

const MEMBERS_SHOWN = 1000;

/** What the service needs. */
interface WorkspacesDeps extends IdentityDeps {
  readonly usage: UsageReader;
}

/** The service's own parts. */
interface WorkspacesRoom extends WorkspacesDeps {
  readonly stored: Resource<WorkspaceBody>;
  /** One as callers read it, with its usage. */
  readonly read: (document: Document<WorkspaceBody>) => Promise<Workspace>;
  /** As the directory knows it. @throws GatewayError not_found */
  readonly named: (call: Call, idOrSlug: string) => Document<WorkspaceBody>;
}

/** The methods of WorkspacesService. */
export function workspacesService(deps: WorkspacesDeps) {
  const { directory, usage } = deps;
  const room: WorkspacesRoom = {
    ...deps,
    stored: resource(deps, {
      collection: workspaces,
      noun: 'workspace',
      shown: shownAs(WorkspaceSchema, (document) => workspaceRecord(directory, document)),
      targetOf: ({ id, body }) => ({ id, name: body.name, workspaceId: id }),
    }),
    read: async (document) => workspaceRecord(directory, document, await workspaceUsage(usage, document)),
    named: (call, idOrSlug) => workspaceNamed(directory, callerOf(call), idOrSlug),
  };
  return { ...workspaceChanges(room), ...workspaceReads(room) };
}

function workspaceChanges(room: WorkspacesRoom) {
  const { documents, directory, now, stored, read, named } = room;
  /** The stored document: the directory may lag a moment. @throws GatewayError not_found. */
  const current = (call: Call, { id }: Document<WorkspaceBody>) =>
    stored.find(organisationOf(callerOf(call)), id);

  return withConflictRetries({
    async createWorkspace(request: CreateWorkspaceRequest, call: Call): Promise<Workspace> {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const [id, at] = [randomUUID(), now()];
      await checkDefaults(documents, { ...scope, workspaceId: id }, request.defaults);
      const given = newBody(directory, caller.organisationId, request, at);
      const slug = newSlug(request.slug, 'ws', request.name, 6);
      const body = bounded(room, caller, WORKSPACE_RULES, undefined, given);
      const made = stored.draft(scope, body, { id, slug, at });
      const also = firstMembers(room, made, request.users);
      const after = { ...stored.shown(made), users: request.users };
      await withOwnName(directory, caller.organisationId, id, request.name, () =>
        stored.create(call, made, { also, after }),
      );
      return read(made);
    },

    async updateWorkspace(request: UpdateWorkspaceRequest, call: Call): Promise<UpdateWorkspaceResponse> {
      const caller = callerOf(call);
      const known = named(call, request.workspaceId);
      if (touchesSecurity(request) && !governs(directory, caller))
        throw fail('forbidden', 'security_settings: owners and admins of the organisation decide them', {
          param: 'security_settings',
        });
      const before = await current(call, known);
      await checkDefaults(documents, { ...organisationOf(caller), workspaceId: before.id }, request.defaults);
      const changed = changedBody(directory, before, request, now());
      const body = bounded(room, caller, WORKSPACE_RULES, before.body, changed);
      const renamed = request.name === before.body.name ? undefined : request.name;
      await withOwnName(directory, caller.organisationId, before.id, renamed, () =>
        stored.update(call, before, stored.changed(before, body)),
      );
      return create(UpdateWorkspaceResponseSchema);
    },

    async deleteWorkspace(request: DeleteWorkspaceRequest, call: Call): Promise<DeleteWorkspaceResponse> {
      const before = await current(call, named(call, request.workspaceId));
      const { id, body } = before;
      if (body.isDefault) throw invalidField('workspace_id', 'the default workspace stays');
      if (request.name !== body.name) throw invalidField('name', "must be the workspace's name");
      const dependentsScope = { organisationId: before.organisationId, workspaceId: id };
      const dependents = await contentsOf(documents, dependentsScope, request.forceDelete ?? false);
      await stored.archive(call, before, { dependents, dependentsScope });
      return create(DeleteWorkspaceResponseSchema);
    },
  });
}

function workspaceReads({ documents, directory, stored, read, named }: WorkspacesRoom) {
  return {
    async listWorkspaces(request: ListWorkspacesRequest, call: Call): Promise<WorkspaceList> {
      const caller = callerOf(call);
      const status = statusOf(request.status);
      if (status !== 'active' && caller.workspaceId !== undefined)
        throw fail('forbidden', 'archived workspaces are for organisation keys');
      const filter: Condition[] = [];
      if (caller.workspaceId !== undefined) filter.push({ field: 'id', op: 'eq', value: caller.workspaceId });
      if (request.exactName !== undefined) filter.push({ field: 'name', op: 'eq', value: request.exactName });
      if (request.name !== undefined) filter.push({ field: 'name', op: 'contains', value: request.name });
      const page = await stored.page(organisationOf(caller), request, { filter, status });
      const data = await Promise.all(page.documents.map(read));
      return create(WorkspaceListSchema, { ...listHead(page), data });
    },

    async getWorkspace(request: GetWorkspaceRequest, call: Call): Promise<Workspace> {
      const found = named(call, request.workspaceId);
      const answer = await read(found);
      if (request.nameFormat === 'display' && found.body.icon !== undefined)
        answer.name = `${found.body.icon} ${found.body.name}`;
      const scope = { organisationId: found.organisationId, workspaceId: found.id };
      const page = await documents.page(scope, members, { pageSize: MEMBERS_SHOWN });
      answer.users = [...workspaceUsers(directory, page.documents)];
      return answer;
    },
  };
}

/** The inserts of a new workspace's members. @throws GatewayError validation_failed */
function firstMembers(
  { directory }: WorkspacesDeps,
  { id, organisationId, createdAt }: Document<WorkspaceBody>,
  given: readonly string[],
) {
  return given.map((userId, i) => {
    const user = directory.user(organisationId, userId);
    if (user === undefined) throw invalidField(`users[${i}]`, 'is no user of the organisation');
    const body = { userId: user.id, role: 'member' as const, email: user.body.email };
    return insertOperation(members, { id: randomUUID(), workspaceId: id, createdAt, body });
  });
}

function touchesSecurity({ securitySettings, clear }: UpdateWorkspaceRequest): boolean {
  return Object.keys(securitySettings).length > 0 || clear.includes('security_settings');
}
