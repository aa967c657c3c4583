// Saved guardrails: made, listed, changed, archived, with their versions.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateGuardrailRequest,
  type DeleteGuardrailRequest,
  type DeleteGuardrailResponse,
  DeleteGuardrailResponseSchema,
  type GetGuardrailRequest,
  type Guardrail,
  type GuardrailList,
  GuardrailListSchema,
  type ListGuardrailsRequest,
  type ListGuardrailVersionsRequest,
  type SavedGuardrailVersion,
  SavedGuardrailVersionSchema,
  type UpdateGuardrailRequest,
} from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { ConfigCatalogue } from '../../configs/config-catalogue.ts';
import { type GuardrailBody, guardrails, guardrailVersions } from '../../configs/config-collections.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { mapInSlices } from '../../lib/time-slices.ts';
import {
  type Condition,
  type Document,
  insertOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { type BoundRule, bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import {
  authorOf,
  callerOf,
  checkOrganisation,
  found,
  organisationOf,
  scopeOf,
  targetScope,
} from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { type Resource, resource } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { retryUntilFree } from '../kit/retry-until-free.ts';
import { slugOf } from '../kit/slug.ts';
import { checkedGuardrail } from './content.ts';
import { guardrailRecord, guardrailShown, guardrailSummary, guardrailVersionRecord } from './record.ts';
import { guardrailNamed, refuseNamed } from './usage.ts';

const MAX_IDS = 100;

/** What the service needs. */
export interface GuardrailsDeps extends IdentityDeps {
  /** Tells which configs name which guardrails. */
  readonly savedConfigs: ConfigCatalogue;
}

/** The author of the checks is recorded: see `checkDefaultOf`. */
const CONTENT: BoundRule<GuardrailBody> = {
  field: 'checks',
  of: ({ versionId }) => versionId,
  isAsTight: () => true,
};

type Verb = 'create' | 'read' | 'update' | 'delete';

/** The service's own parts. */
interface GuardrailsRoom extends GuardrailsDeps {
  readonly stored: Resource<GuardrailBody>;
  /** For changes: a workspace's caller has no part in the organisation's. */
  readonly own: (call: Call, id: string, verb: Verb) => Promise<Document<GuardrailBody>>;
}

/** The methods of GuardrailsService. */
export function guardrailsService(deps: GuardrailsDeps) {
  const stored = resource(deps, { collection: guardrails, noun: 'guardrail', shown: guardrailShown });
  const room: GuardrailsRoom = {
    ...deps,
    stored,
    async own(call, id, verb) {
      const caller = callerOf(call);
      const document = await stored.find(scopeOf(caller), id);
      checkScope(caller, document.workspaceId, verb);
      return document;
    },
  };
  return { ...guardrailChanges(room), ...guardrailReads(room) };
}

function guardrailChanges(room: GuardrailsRoom) {
  const { directory, now, stored, own } = room;
  return {
    async createGuardrail(request: CreateGuardrailRequest, call: Call): Promise<SavedGuardrailVersion> {
      const caller = callerOf(call);
      checkOrganisation(caller, request.organisationId);
      const scope = targetScope(directory, caller, request.workspaceId);
      checkScope(caller, scope.workspaceId, 'create');
      const content = checkedGuardrail(request, undefined);
      const [author, { name }, at] = [authorOf(caller), request, now()];
      const given = { name, ...content, versionId: randomUUID(), ownerId: author, updatedBy: author };
      const body = bounded<GuardrailBody>(room, caller, [CONTENT], undefined, given);
      return retryUntilFree(['slug'], async () => {
        const made = stored.draft(scope, body, { slug: slugOf('pg', name, 6), at });
        return savedOf(await stored.create(call, made, { also: [versionOperation(made, at)] }));
      });
    },

    async updateGuardrail(request: UpdateGuardrailRequest, call: Call): Promise<SavedGuardrailVersion> {
      return retryOnConflict(async () => {
        const before = await own(call, request.guardrailId, 'update');
        const { checks, actions } = before.body;
        const content = checkedGuardrail(request, { checks, actions });
        const isNew = JSON.stringify(content) !== JSON.stringify({ checks, actions });
        if (isNew) checkDefaultOf(directory, callerOf(call), before);
        const after = stored.changed(before, {
          ...before.body,
          ...content,
          name: request.name ?? before.body.name,
          versionId: isNew ? randomUUID() : before.body.versionId,
          updatedBy: authorOf(callerOf(call)),
        });
        const also = isNew ? [versionOperation(after, after.updatedAt)] : [];
        return savedOf(await stored.update(call, before, after, { also }));
      });
    },

    async deleteGuardrail(request: DeleteGuardrailRequest, call: Call): Promise<DeleteGuardrailResponse> {
      return retryOnConflict(async () => {
        const before = await own(call, request.guardrailId, 'delete');
        refuseNamed(room, before);
        await stored.archive(call, before);
        return create(DeleteGuardrailResponseSchema);
      });
    },
  };
}

function guardrailReads({ documents, directory, stored, own }: GuardrailsRoom) {
  /** For reading: the organisation's are everybody's. */
  const visible = async (call: Call, id: string): Promise<Document<GuardrailBody>> => {
    const caller = callerOf(call);
    if (caller.workspaceId !== undefined)
      return found(await guardrailNamed(documents, scopeOf(caller), id), 'guardrail');
    return own(call, id, 'read');
  };

  return {
    async listGuardrails(request: ListGuardrailsRequest, call: Call): Promise<GuardrailList> {
      const caller = callerOf(call);
      checkOrganisation(caller, request.organisationId);
      const scope = targetScope(directory, caller, request.workspaceId);
      const filter: Condition[] = [];
      if (request.ids !== undefined) filter.push({ field: 'id', op: 'in', value: idsOf(request.ids) });
      if (request.organisationId && scope.workspaceId === undefined)
        filter.push({ field: 'workspaceId', op: 'eq', value: null });
      const page = await stored.page(scope, request, { filter });
      return create(GuardrailListSchema, { ...listHead(page), data: page.documents.map(guardrailSummary) });
    },

    async getGuardrail(request: GetGuardrailRequest, call: Call): Promise<Guardrail> {
      return guardrailRecord(await visible(call, request.guardrailId));
    },

    async listGuardrailVersions(request: ListGuardrailVersionsRequest, call: Call): Promise<GuardrailList> {
      const guardrail = await visible(call, request.guardrailId);
      const page = await documents.page(organisationOf(callerOf(call)), guardrailVersions, {
        ...newestFirst(request),
        filter: [{ field: 'guardrailId', op: 'eq', value: guardrail.id }],
      });
      const data = await mapInSlices(page.documents, (version) => guardrailVersionRecord(guardrail, version));
      return create(GuardrailListSchema, { ...listHead(page), data });
    },
  };
}

/** @throws GatewayError forbidden for one that a higher level made, and made a default of the workspace. */
function checkDefaultOf(
  directory: Directory,
  caller: Principal,
  { organisationId, workspaceId = '', id, slug, body: guardrail }: Document<GuardrailBody>,
): void {
  if (setAboveCaller(directory, caller, guardrail, CONTENT.field, undefined) === undefined) return;
  const body = directory.workspace(organisationId, workspaceId)?.body;
  for (const side of ['input', 'output']) {
    const list = body?.defaults?.[`${side}_guardrails`];
    if (body === undefined || !Array.isArray(list) || !list.some((one) => one === id || one === slug))
      continue;
    const set = setAboveCaller(directory, caller, body, `defaults.${side}_guardrails`, list);
    if (set !== undefined) throw setByHigher('checks', set, 'a default of the workspace is theirs to change');
  }
}

/** Guardrails of the organisation have scopes of their own. @throws GatewayError forbidden. */
function checkScope({ scopes }: Principal, workspaceId: string | undefined, verb: Verb): void {
  const scope = `${workspaceId === undefined ? 'organisation_guardrails' : 'guardrails'}.${verb}`;
  if (!scopes.has(scope)) throw fail('forbidden', `the key lacks the scope ${scope}`);
}

function idsOf(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.length > MAX_IDS) throw invalidField('ids', `must be ${MAX_IDS} at the most`);
  return ids;
}

function versionOperation(
  { id, workspaceId, body }: Pick<Document<GuardrailBody>, 'id' | 'workspaceId' | 'body'>,
  createdAt: number,
): WriteOperation {
  const { name, checks, actions, versionId, updatedBy } = body;
  return insertOperation(guardrailVersions, {
    id: versionId,
    createdAt,
    body: { guardrailId: id, name, checks, actions, updatedBy },
    ...(workspaceId === undefined ? {} : { workspaceId }),
  });
}

function savedOf({ id, slug = '', body }: Document<GuardrailBody>): SavedGuardrailVersion {
  return create(SavedGuardrailVersionSchema, { id, slug, versionId: body.versionId, object: 'guardrail' });
}
