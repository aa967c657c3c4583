// Labels of prompt versions: made, listed, changed, archived. The universal labels, of every workspace, are built in.
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
import type { Condition, Document } from '../../store/documents.ts';
import { callerOf, ownWorkspace, targetScope } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { DEFAULT_PAGE_SIZE, listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { resource, shownAs } from '../kit/resource.ts';
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
export function labelsService(deps: PromptsDeps) {
  const { directory } = deps;
  const stored = resource(deps, {
    collection: labels,
    noun: 'label',
    shown: shownAs(LabelSchema, labelRecord),
  });
  const universal = (caller: Principal, id: string): UniversalLabel | undefined =>
    universalLabels(caller.organisationId).find((label) => label.id === id);

  const find = async (call: Call, request: Named): Promise<Document<LabelBody>> => {
    const caller = callerOf(call);
    checkOrganisation(caller, request);
    if (universal(caller, request.labelId))
      throw fail('forbidden', 'labels of every workspace stay as they are');
    return stored.find(targetScope(directory, caller, request.workspaceId), request.labelId);
  };

  return withConflictRetries({
    async createLabel(request: CreateLabelRequest, call: Call): Promise<CreateLabelResponse> {
      const caller = callerOf(call);
      checkOrganisation(caller, request);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      const { description, colorCode } = request;
      const body = defined<LabelBody>({ name: checkedName(request.name), description, colorCode });
      const { id } = await stored.create(call, stored.draft(scope, body));
      return create(CreateLabelResponseSchema, { id });
    },

    async listLabels(request: ListLabelsRequest, call: Call): Promise<LabelList> {
      const caller = callerOf(call);
      checkOrganisation(caller, request);
      const { search } = request;
      const filter: Condition[] =
        search === undefined ? [] : [{ field: 'name', op: 'contains', value: search }];
      const scope = targetScope(directory, caller, request.workspaceId);
      const page = await stored.page(scope, request, { filter });
      const own = { ...listHead(page), data: page.documents.map(labelRecord) };
      return create(LabelListSchema, withUniversal(directory, caller, request, own));
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
      const { name, description, colorCode } = before.body;
      const fields = patch(request.clear, ['description', 'color_code']);
      const body = defined<LabelBody>({
        name: request.name === undefined ? name : checkedName(request.name),
        description: fields.optional('description', request.description, description),
        colorCode: fields.optional('color_code', request.colorCode, colorCode),
      });
      await stored.update(call, before, stored.changed(before, body));
      return create(UpdateLabelResponseSchema);
    },

    async deleteLabel(request: DeleteLabelRequest, call: Call): Promise<DeleteLabelResponse> {
      await stored.archive(call, await find(call, request));
      return create(DeleteLabelResponseSchema);
    },
  });
}

/** The page with the universal labels, which follow the workspace's own. */
function withUniversal(
  directory: Directory,
  { organisationId }: Principal,
  { search = '', currentPage = 0, pageSize = DEFAULT_PAGE_SIZE }: ListLabelsRequest,
  own: ReturnType<typeof listHead> & { readonly data: readonly Label[] },
) {
  if (own.totalCapped) return { ...own, data: [...own.data] };
  const everywhere = universalLabels(organisationId).filter(({ name }) => name.includes(search));
  const from = Math.max(0, currentPage * pageSize - Number(own.total));
  const rest = everywhere.slice(from, from + pageSize - own.data.length);
  const data = [...own.data, ...rest.map((label) => universalRecord(directory, organisationId, label))];
  return { ...own, total: own.total + BigInt(everywhere.length), data };
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
  const { organisationId, workspaceId = '', body } = document;
  return create(LabelSchema, {
    ...recordHead(document),
    ...body,
    organisationId,
    workspaceId,
    isUniversal: false,
    object: 'label',
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
