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
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { WORKSPACE_RULES } from '../kit/bound-rules.ts';
import { bounded } from '../kit/bounds.ts';
import { callerOf, organisationOf, workspaceNamed } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { newSlug } from '../kit/slug.ts';
import { changedBody, newBody } from './body.ts';
import { archiveContents } from './contents.ts';
import { checkDefaults } from './defaults.ts';
import { withOwnName } from './name.ts';
import { workspaceRecord, workspaceUsage } from './record.ts';
import { workspaceUsers } from './user.ts';

const MEMBERS_SHOWN = 1000;

/** The methods of WorkspacesService. */
export function workspacesService({
  documents,
  changes,
  directory,
  usage,
  now,
}: IdentityDeps & { readonly usage: UsageReader }) {
  const bounds = { directory, now };
  const named = (call: Call, idOrSlug: string) => workspaceNamed(directory, callerOf(call), idOrSlug);
  const record = (document: Document<WorkspaceBody>) => workspaceRecord(directory, document);
  const read = async (document: Document<WorkspaceBody>) =>
    workspaceRecord(directory, document, await workspaceUsage(usage, document));
  const shown = (document: Document<WorkspaceBody>) =>
    codec.encode(WorkspaceSchema, record(document)) as JsonObject;

  return withConflictRetries({
    async createWorkspace(request: CreateWorkspaceRequest, call: Call): Promise<Workspace> {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const at = now();
      const id = randomUUID();
      await checkDefaults(documents, { ...scope, workspaceId: id }, request.defaults);
      const given = newBody(directory, caller.organisationId, request, at);
      const document = {
        id,
        slug: newSlug(request.slug, 'ws', request.name, 6),
        createdAt: at,
        body: bounded(bounds, caller, WORKSPACE_RULES, undefined, given),
      };
      const users = request.users.map((userId, i) => {
        const user = directory.user(caller.organisationId, userId);
        if (user === undefined) throw invalidField(`users[${i}]`, 'is no user of the organisation');
        return insertOperation(members, {
          id: randomUUID(),
          workspaceId: id,
          createdAt: at,
          body: { userId: user.id, role: 'member', email: user.body.email },
        });
      });
      const after = codec.encode(
        WorkspaceSchema,
        record({ ...asNew(document), organisationId: caller.organisationId }),
      ) as JsonObject;
      const operations = [insertOperation(workspaces, document), ...users];
      const target = { id, name: request.name, workspaceId: id, after: { ...after, users: request.users } };
      const [made] = await withOwnName(directory, caller.organisationId, id, request.name, () =>
        changes.commit(call, scope, operations, target),
      );
      return read(made as Document<WorkspaceBody>);
    },

    async listWorkspaces(request: ListWorkspacesRequest, call: Call): Promise<WorkspaceList> {
      const caller = callerOf(call);
      const statuses = new Set(request.status?.split(',') ?? ['active']);
      if (statuses.has('archived') && caller.workspaceId !== undefined)
        throw fail('forbidden', 'archived workspaces are for organisation keys');
      const filter: Condition[] = [];
      if (caller.workspaceId !== undefined) filter.push({ field: 'id', op: 'eq', value: caller.workspaceId });
      if (request.exactName !== undefined) filter.push({ field: 'name', op: 'eq', value: request.exactName });
      if (request.name !== undefined) filter.push({ field: 'name', op: 'contains', value: request.name });
      const page = await documents.page(organisationOf(caller), workspaces, {
        ...newestFirst(request),
        filter,
        status: statuses.size > 1 ? 'all' : statuses.has('archived') ? 'archived' : 'active',
      });
      return create(WorkspaceListSchema, {
        ...listHead(page),
        data: await Promise.all(page.documents.map(read)),
      });
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

    async updateWorkspace(request: UpdateWorkspaceRequest, call: Call): Promise<UpdateWorkspaceResponse> {
      const caller = callerOf(call);
      const known = named(call, request.workspaceId);
      if (touchesSecurity(request) && !governs(directory, caller))
        throw fail('forbidden', 'security_settings: owners and admins of the organisation decide them', {
          param: 'security_settings',
        });
      const before = await current(documents, known);
      await checkDefaults(documents, { ...organisationOf(caller), workspaceId: before.id }, request.defaults);
      const changed = changedBody(directory, before, request, now());
      const body = bounded(bounds, caller, WORKSPACE_RULES, before.body, changed);
      const change = { body, updatedAt: now() };
      const after = { ...before, body, updatedAt: change.updatedAt };
      const told = {
        id: before.id,
        name: body.name,
        workspaceId: before.id,
        before: shown(before),
        after: shown(after),
      };
      const operation = updateOperation(workspaces, before.id, before.version, change);
      const renamed = request.name === before.body.name ? undefined : request.name;
      await withOwnName(directory, caller.organisationId, before.id, renamed, () =>
        changes.commit(call, organisationOf(caller), [operation], told),
      );
      return create(UpdateWorkspaceResponseSchema);
    },

    async deleteWorkspace(request: DeleteWorkspaceRequest, call: Call): Promise<DeleteWorkspaceResponse> {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const before = await current(documents, named(call, request.workspaceId));
      if (before.body.isDefault) throw invalidField('workspace_id', 'the default workspace stays');
      if (request.name !== before.body.name) throw invalidField('name', "must be the workspace's name");
      const target = { id: before.id, name: before.body.name, workspaceId: before.id, before: shown(before) };
      const contents = await archiveContents(
        documents,
        before,
        request.forceDelete ?? false,
        now(),
        (batch) => changes.commit(call, scope, batch, target),
      );
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(
        call,
        scope,
        [...contents, archiveOperation(workspaces, before.id, order)],
        target,
      );
      return create(DeleteWorkspaceResponseSchema);
    },
  });
}

function touchesSecurity({ securitySettings, clear }: UpdateWorkspaceRequest): boolean {
  return Object.keys(securitySettings).length > 0 || clear.includes('security_settings');
}

/** The stored document: the directory may lag a moment. @throws GatewayError not_found. */
async function current(
  documents: DocumentStore,
  known: Document<WorkspaceBody>,
): Promise<Document<WorkspaceBody>> {
  const scope = { organisationId: known.organisationId, workspaceId: undefined };
  const found = await documents.get(scope, workspaces, known.id);
  if (found === undefined) throw fail('not_found', `there is no workspace ${known.id}`);
  return found;
}

/** A document as it will be after its insert. */
function asNew(document: {
  readonly id: string;
  readonly slug: string;
  readonly createdAt: number;
  readonly body: WorkspaceBody;
}): Omit<Document<WorkspaceBody>, 'organisationId'> {
  const { createdAt } = document;
  return { ...document, updatedAt: createdAt, version: 1, status: 'active', schemaVersion: 1 };
}
