// Labels of prompt versions: made, listed, changed, archived. The universal labels, of every workspace, are built in.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateLabelRequest,
  type CreateLabelResponse,
  CreateLabelResponseSchema,
  type DeleteLabelRequest,
  type DeleteLabelResponse,
  DeleteLabelResponseSchema,
  type GetLabelRequest,
  type Label,
  type LabelList,
  LabelListSchema,
  LabelSchema,
  type ListLabelsRequest,
  type UpdateLabelRequest,
  type UpdateLabelResponse,
  UpdateLabelResponseSchema,
} from '../../../gen/gateway/admin/v2/labels_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { type LabelBody, labels } from '../../prompts/prompt-collections.ts';
import { type UniversalLabel, universalLabels } from '../../prompts/universal-labels.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { callerOf, found, ownWorkspace, targetScope } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import type { PromptsDeps } from '../prompts/deps.ts';

/** At most one character that is no letter, digit, "_" or "-". */
const NAME = /^[A-Za-z0-9_-]*[^@\s]?[A-Za-z0-9_-]*$/u;

interface Named {
  readonly labelId: string;
  readonly workspaceId?: string | undefined;
  readonly organisationId?: string | undefined;
  readonly organizationId?: string | undefined;
}

/** The methods of LabelsService. */
export function labelsService({ documents, changes, directory, now }: PromptsDeps) {
  const universal = (caller: Principal, id: string): UniversalLabel | undefined =>
    universalLabels(caller.organisationId).find((label) => label.id === id);

  const find = async (call: Call, request: Named): Promise<Document<LabelBody>> => {
    const caller = callerOf(call);
    checkOrganisation(caller, request);
    if (universal(caller, request.labelId))
      throw fail('forbidden', 'labels of every workspace stay as they are');
    const scope = targetScope(directory, caller, request.workspaceId);
    return found(await documents.get(scope, labels, request.labelId), 'label');
  };

  return withConflictRetries({
    async createLabel(request: CreateLabelRequest, call: Call): Promise<CreateLabelResponse> {
      const caller = callerOf(call);
      checkOrganisation(caller, request);
      const { organisationId } = caller;
      const workspaceId = ownWorkspace(directory, caller, request.workspaceId);
      const body = defined<LabelBody>({
        name: checkedName(request.name),
        description: request.description,
        colorCode: request.colorCode,
      });
      const [id, createdAt] = [randomUUID(), now()];
      const made: Document<LabelBody> = {
        id,
        organisationId,
        workspaceId,
        version: 1,
        status: 'active',
        schemaVersion: 1,
        createdAt,
        updatedAt: createdAt,
        body,
      };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [insertOperation(labels, { id, createdAt, body })],
        { ...targetOf(made), after: shown(made) },
      );
      return create(CreateLabelResponseSchema, { id });
    },

    async listLabels(request: ListLabelsRequest, call: Call): Promise<LabelList> {
      const caller = callerOf(call);
      checkOrganisation(caller, request);
      const { search } = request;
      const filter: Condition[] =
        search === undefined ? [] : [{ field: 'name', op: 'contains', value: search }];
      const place = newestFirst(request);
      const scope = targetScope(directory, caller, request.workspaceId);
      const page = await documents.page(scope, labels, { ...place, filter });
      const head = listHead(page);
      const everywhere = universalLabels(caller.organisationId).filter(({ name }) =>
        name.includes(search ?? ''),
      );
      // They follow the workspace's own.
      const size = place.pageSize ?? page.documents.length;
      const from = Math.max(0, (place.page ?? 0) * size - page.total);
      const rest = head.totalCapped ? [] : everywhere.slice(from, from + size - page.documents.length);
      return create(LabelListSchema, {
        ...head,
        total: head.total + BigInt(head.totalCapped ? 0 : everywhere.length),
        data: [
          ...page.documents.map(labelRecord),
          ...rest.map((label) => universalRecord(directory, caller.organisationId, label)),
        ],
      });
    },

    async getLabel(request: GetLabelRequest, call: Call): Promise<Label> {
      const caller = callerOf(call);
      checkOrganisation(caller, request);
      const everywhere = universal(caller, request.labelId);
      if (everywhere) return universalRecord(directory, caller.organisationId, everywhere);
      return labelRecord(await find(call, request));
    },

    async updateLabel(request: UpdateLabelRequest, call: Call): Promise<UpdateLabelResponse> {
      const before = await find(call, request);
      const { id, version, organisationId, workspaceId } = before;
      const fields = patch(request.clear, ['description', 'color_code']);
      const body = defined<LabelBody>({
        name: request.name === undefined ? before.body.name : checkedName(request.name),
        description: fields.optional('description', request.description, before.body.description),
        colorCode: fields.optional('color_code', request.colorCode, before.body.colorCode),
      });
      const after = { ...before, body, updatedAt: now() };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [updateOperation(labels, id, version, { body, updatedAt: after.updatedAt })],
        { ...targetOf(after), before: shown(before), after: shown(after) },
      );
      return create(UpdateLabelResponseSchema);
    },

    async deleteLabel(request: DeleteLabelRequest, call: Call): Promise<DeleteLabelResponse> {
      const before = await find(call, request);
      const { id, version, organisationId, workspaceId } = before;
      const order = { version, updatedAt: now() };
      await changes.commit(call, { organisationId, workspaceId }, [archiveOperation(labels, id, order)], {
        ...targetOf(before),
        before: shown(before),
      });
      return create(DeleteLabelResponseSchema);
    },
  });
}

/** @throws GatewayError validation_failed, conflict */
function checkedName(name: string): string {
  if (name === 'latest' || name === 'default') throw invalidField('name', 'must not be latest or default');
  if (/^\d+$/.test(name)) throw invalidField('name', 'must not be digits alone: those are versions');
  if (!NAME.test(name))
    throw invalidField(
      'name',
      'must be letters, digits, _ and -, with at most one other character, which is neither @ nor white space',
    );
  if (universalLabels('').some((label) => label.name === name))
    throw fail('conflict', 'every workspace has a label of this name', { param: 'name' });
  return name;
}

/** @throws GatewayError validation_failed */
function checkOrganisation({ organisationId }: Principal, request: Omit<Named, 'labelId'>): void {
  for (const [field, given] of [
    ['organisation_id', request.organisationId],
    ['organization_id', request.organizationId],
  ] as const)
    if (given !== undefined && given !== organisationId)
      throw invalidField(field, 'is not the organisation of the caller');
}

function labelRecord(document: Document<LabelBody>): Label {
  const { id, organisationId, workspaceId = '', status, createdAt, updatedAt, body } = document;
  return create(LabelSchema, {
    id,
    ...body,
    organisationId,
    workspaceId,
    isUniversal: false,
    status,
    object: 'label',
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

function universalRecord(directory: Directory, organisationId: string, { id, name }: UniversalLabel): Label {
  const at = timeText(directory.organisation(organisationId)?.createdAt ?? 0);
  return create(LabelSchema, {
    id,
    name,
    organisationId,
    isUniversal: true,
    status: 'active',
    object: 'label',
    createdAt: at,
    lastUpdatedAt: at,
  });
}

function shown(document: Document<LabelBody>): JsonObject {
  return codec.encode(LabelSchema, labelRecord(document)) as JsonObject;
}

function targetOf({ id, workspaceId, body }: Document<LabelBody>) {
  return { id, name: body.name, workspaceId };
}
