// Usage-limit policies: made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateUsageLimitPolicyRequest,
  type CreateUsageLimitPolicyResponse,
  CreateUsageLimitPolicyResponseSchema,
  type DeleteUsageLimitPolicyRequest,
  type DeleteUsageLimitPolicyResponse,
  DeleteUsageLimitPolicyResponseSchema,
  type GetUsageLimitPolicyRequest,
  type ListUsageLimitEntitiesRequest,
  type ListUsageLimitPoliciesRequest,
  type ResetUsageLimitEntityRequest,
  type ResetUsageLimitEntityResponse,
  ResetUsageLimitEntityResponseSchema,
  type UpdateUsageLimitPolicyRequest,
  type UpdateUsageLimitPolicyResponse,
  UpdateUsageLimitPolicyResponseSchema,
  type UsageLimitEntityList,
  UsageLimitEntityListSchema,
  type UsageLimitPolicy,
  type UsageLimitPolicyList,
  UsageLimitPolicyListSchema,
  UsageLimitPolicySchema,
} from '../../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import type { Call } from '../../call/call.ts';
import { MOST_GROUPS } from '../../ledger/limits/groups.ts';
import { lastReset, resetAfter } from '../../ledger/limits/period.ts';
import { scheduleOfPolicy, type UsageLimitPolicyBody, usageLimitPolicies } from '../../ledger/policies.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { USAGE_POLICY_RULES } from '../kit/bound-rules.ts';
import { bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, scopeOf, targetWorkspace } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import {
  type EntitiesDeps,
  entityRecord,
  findByValueKey,
  findEntities,
  findEntity,
  readEntities,
  resetEntity,
  resetNote,
  shownEntity,
  statusOf,
  usageMap,
} from './entities.ts';
import {
  checkAssumed,
  checkRoom,
  checkSameTarget,
  checkTarget,
  conditionMessages,
  conditionsOf,
  findPolicy,
  groupKeysOf,
  groupMessages,
  policyWorkspace,
  shownAssumed,
  targetOf,
} from './parts.ts';
import { changedReset, checkAmounts, countedSince, resetOf } from './reset.ts';

const CLEARABLE = [
  ...['name', 'alert_threshold', 'periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'],
  ...['on_store_outage', 'assumed_output_tokens'],
];
const OBJECT = 'policy_usage_limits';

/** What the service is made with. */
export type UsageLimitPoliciesDeps = IdentityDeps & EntitiesDeps;

/** Entities of a policy's map of usage. */
const MOST_IN_MAP = 1000;
const DEFAULT_PAGE_SIZE = 100;

/** The methods of UsageLimitPoliciesService. */
export function usageLimitPoliciesService(deps: UsageLimitPoliciesDeps) {
  const { documents, changes, directory, now } = deps;
  const find = (call: Call, id: string, status?: string) =>
    findPolicy(documents, callerOf(call), usageLimitPolicies, id, status);

  return {
    async createUsageLimitPolicy(
      request: CreateUsageLimitPolicyRequest,
      call: Call,
    ): Promise<CreateUsageLimitPolicyResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = policyWorkspace(directory, caller, request);
      await checkRoom(documents, organisationId);
      const given = defined<UsageLimitPolicyBody>({
        name: request.name,
        conditions: conditionsOf(request.conditions),
        groupBy: groupKeysOf(request.groupBy),
        type: request.type as UsageLimitPolicyBody['type'],
        creditLimit: request.creditLimit,
        alertThreshold: request.alertThreshold,
        ...resetOf(request, now()),
        countedSince: undefined,
        onStoreOutage: request.onStoreOutage as UsageLimitPolicyBody['onStoreOutage'],
        assumedOutputTokens: request.assumedOutputTokens,
        ...targetOf(request.target),
      });
      checkAssumed(given);
      checkTarget(given);
      checkAmounts(given);
      const body = bounded(deps, caller, USAGE_POLICY_RULES, undefined, given);
      const [id, createdAt] = [randomUUID(), now()];
      const made: Document<UsageLimitPolicyBody> = {
        id,
        organisationId,
        createdAt,
        updatedAt: createdAt,
        body,
        version: 1,
        schemaVersion: 1,
        status: 'active',
        ...(workspaceId === undefined ? {} : { workspaceId }),
      };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [insertOperation(usageLimitPolicies, { id, createdAt, body })],
        { id, name: body.name ?? '', workspaceId, after: shown(made) },
      );
      return create(CreateUsageLimitPolicyResponseSchema, { id, object: OBJECT });
    },

    async listUsageLimitPolicies(
      request: ListUsageLimitPoliciesRequest,
      call: Call,
    ): Promise<UsageLimitPolicyList> {
      const caller = callerOf(call);
      const filter: Condition[] = [];
      if (request.type !== undefined) filter.push({ field: 'type', op: 'eq', value: request.type });
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
      const page = await documents.page({ ...scopeOf(caller), workspaceId }, usageLimitPolicies, {
        ...newestFirst(request),
        filter,
        status: request.status === 'archived' ? 'archived' : 'active',
      });
      const at = now();
      const data = page.documents.map((document) => policyRecord(document, at));
      return create(UsageLimitPolicyListSchema, { ...listHead(page), data });
    },

    async getUsageLimitPolicy(request: GetUsageLimitPolicyRequest, call: Call): Promise<UsageLimitPolicy> {
      const found = await find(call, request.policyId, request.status);
      const record = policyRecord(found, now());
      if (request.includeUsage !== true) return record;
      const entities = await findEntities(deps, found, undefined, MOST_IN_MAP);
      record.valueKeyUsageMap = usageMap(await readEntities(deps, found, entities));
      return record;
    },

    async updateUsageLimitPolicy(
      request: UpdateUsageLimitPolicyRequest,
      call: Call,
    ): Promise<UpdateUsageLimitPolicyResponse> {
      const before = await find(call, request.policyId);
      const { organisationId, workspaceId, body: was } = before;
      checkSameTarget(was, request.target);
      const fields = patch(request.clear, CLEARABLE);
      const given = defined<UsageLimitPolicyBody>({
        name: fields.optional('name', request.name, was.name),
        conditions: request.conditions.length > 0 ? conditionsOf(request.conditions) : was.conditions,
        groupBy: was.groupBy,
        type: was.type,
        creditLimit: fields.always('credit_limit', request.creditLimit, was.creditLimit),
        alertThreshold: fields.optional('alert_threshold', request.alertThreshold, was.alertThreshold),
        ...changedReset(was, request, fields, now()),
        countedSince: countedSince(was, now()),
        onStoreOutage: fields.optional(
          'on_store_outage',
          request.onStoreOutage as UsageLimitPolicyBody['onStoreOutage'],
          was.onStoreOutage,
        ),
        ...targetOf(was.target),
        assumedOutputTokens: fields.optional(
          'assumed_output_tokens',
          request.assumedOutputTokens,
          was.assumedOutputTokens,
        ),
      });
      checkAssumed(given);
      checkTarget(given);
      checkAmounts(given);
      const body = bounded(deps, callerOf(call), USAGE_POLICY_RULES, was, given);
      const value = request.resetUsageForValue;
      if (value !== undefined) checkTheirs(deps, call, was, 'reset_usage_for_value');
      const entity = value === undefined ? undefined : await findByValueKey(deps, before, value);
      if (value !== undefined && entity === undefined)
        throw invalidField('reset_usage_for_value', 'is no value key that the policy has counted');
      const change = { body, updatedAt: now() };
      const after = { ...before, ...change };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [
          updateOperation(usageLimitPolicies, before.id, before.version, change),
          ...(entity === undefined ? [] : [resetNote(entity, change.updatedAt)]),
        ],
        {
          id: before.id,
          name: body.name ?? '',
          workspaceId,
          before: shown(before),
          after: { ...shown(after), ...(value === undefined ? {} : { reset_usage_for_value: value }) },
        },
      );
      if (entity !== undefined) await resetEntity(deps, after, entity);
      return create(UpdateUsageLimitPolicyResponseSchema);
    },

    async listUsageLimitEntities(
      request: ListUsageLimitEntitiesRequest,
      call: Call,
    ): Promise<UsageLimitEntityList> {
      const policy = await find(call, request.policyId);
      const entities = await findEntities(deps, policy, request.search);
      const size = request.pageSize ?? DEFAULT_PAGE_SIZE;
      const from = (request.currentPage ?? 0) * size;
      // The exhausted ones are known only when all are read; of the others only the page is read.
      const wanted =
        request.status === undefined
          ? undefined
          : (await readEntities(deps, policy, entities)).filter(
              ({ usage }) => statusOf(usage) === request.status,
            );
      const page =
        wanted?.slice(from, from + size) ??
        (await readEntities(deps, policy, entities.slice(from, from + size)));
      return create(UsageLimitEntityListSchema, {
        object: 'list',
        total: BigInt(wanted?.length ?? entities.length),
        totalCapped: entities.length >= MOST_GROUPS,
        data: page.map(entityRecord),
      });
    },

    async resetUsageLimitEntity(
      request: ResetUsageLimitEntityRequest,
      call: Call,
    ): Promise<ResetUsageLimitEntityResponse> {
      const policy = await find(call, request.policyId);
      checkTheirs(deps, call, policy.body, 'entity_id');
      const { organisationId, workspaceId } = policy;
      const entity = await findEntity(deps, policy, request.entityId);
      const [before] = await readEntities(deps, policy, [entity]);
      const at = now();
      await changes.commit(call, { organisationId, workspaceId }, [resetNote(entity, at)], {
        id: policy.id,
        name: policy.body.name ?? '',
        workspaceId,
        ...(before === undefined
          ? {}
          : {
              before: shownEntity(before),
              after: {
                ...shownEntity(before),
                current_usage: 0,
                status: 'active',
                last_reset_at: timeText(at),
              },
            }),
      });
      await resetEntity(deps, policy, entity);
      return create(ResetUsageLimitEntityResponseSchema);
    },

    async deleteUsageLimitPolicy(
      request: DeleteUsageLimitPolicyRequest,
      call: Call,
    ): Promise<DeleteUsageLimitPolicyResponse> {
      const before = await find(call, request.policyId);
      checkTheirs(deps, call, before.body, 'policy_id');
      const { organisationId, workspaceId } = before;
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [archiveOperation(usageLimitPolicies, before.id, order)],
        { id: before.id, name: before.body.name ?? '', workspaceId, before: shown(before) },
      );
      return create(DeleteUsageLimitPolicyResponseSchema);
    },
  };
}

/** @throws GatewayError forbidden for a policy that a higher level made: it is neither removed nor reset below. */
function checkTheirs(
  { directory }: IdentityDeps,
  call: Call,
  body: UsageLimitPolicyBody,
  field: string,
): void {
  const set = setAboveCaller(directory, callerOf(call), body, 'credit_limit', body.creditLimit);
  if (set !== undefined) throw setByHigher(field, set);
}

/** @param now Unix milliseconds: resets are shown as of then. */
function policyRecord(document: Document<UsageLimitPolicyBody>, now: number): UsageLimitPolicy {
  const { id, organisationId, workspaceId, status, createdAt, updatedAt, body } = document;
  const schedule = scheduleOfPolicy(body);
  const [next, last] = [resetAfter(schedule, now), lastReset(schedule, now)];
  return create(UsageLimitPolicySchema, {
    id,
    object: OBJECT,
    ...(body.name === undefined ? {} : { name: body.name }),
    conditions: conditionMessages(body.conditions),
    groupBy: groupMessages(body.groupBy),
    type: body.type,
    creditLimit: body.creditLimit,
    ...(body.alertThreshold === undefined ? {} : { alertThreshold: body.alertThreshold }),
    ...(body.periodicReset === undefined ? {} : { periodicReset: body.periodicReset }),
    ...(body.periodicResetDays === undefined ? {} : { periodicResetDays: body.periodicResetDays }),
    ...(next === undefined ? {} : { nextUsageResetAt: timeText(next) }),
    ...(last === undefined ? {} : { lastResetAt: timeText(last) }),
    onStoreOutage: body.onStoreOutage ?? 'deny',
    ...shownAssumed(body),
    target: body.target ?? 'llm',
    status,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    organisationId,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

function shown(document: Document<UsageLimitPolicyBody>): JsonObject {
  return codec.encode(UsageLimitPolicySchema, policyRecord(document, document.updatedAt)) as JsonObject;
}
