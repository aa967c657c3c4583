// Usage-limit policies: made, listed, changed, archived.
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
import type { Document } from '../../store/documents.ts';
import { USAGE_POLICY_RULES } from '../kit/bound-rules.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { shownAs, tenantOf } from '../kit/resource.ts';
import { optionalTimeText, timeText } from '../kit/time.ts';
import {
  checkReset,
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
import { type PolicyKind, policyMembers, policyOperations } from './policy-operations.ts';
import { changedReset, checkAmounts, countedSince, resetOf } from './reset.ts';

const OBJECT = 'policy_usage_limits';

/** What the service is made with. */
export type UsageLimitPoliciesDeps = IdentityDeps & EntitiesDeps;

/** Entities of a policy's map of usage. */
const MOST_IN_MAP = 1000;
const DEFAULT_PAGE_SIZE = 100;

const KIND: PolicyKind<UsageLimitPolicyBody> = {
  collection: usageLimitPolicies,
  // Resets are shown as of the change.
  shown: (document) =>
    shownAs(UsageLimitPolicySchema, () => policyRecord(document, document.updatedAt))(document),
  rules: USAGE_POLICY_RULES,
  amount: 'creditLimit',
  amountField: 'credit_limit',
  clearable: ['alert_threshold', 'periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'],
  filters: ['type'],
  check: checkAmounts,
};

type Policies = ReturnType<typeof policyOperations<UsageLimitPolicyBody>>;

/** The methods of UsageLimitPoliciesService. */
export function usageLimitPoliciesService(deps: UsageLimitPoliciesDeps) {
  const policies = policyOperations(deps, KIND);
  return { ...policyMethods(deps, policies), ...entityMethods(deps, policies) };
}

function policyMethods(deps: UsageLimitPoliciesDeps, policies: Policies) {
  const { now } = deps;
  return {
    async createUsageLimitPolicy(
      request: CreateUsageLimitPolicyRequest,
      call: Call,
    ): Promise<CreateUsageLimitPolicyResponse> {
      const { id } = await policies.create(call, request, () => ({
        type: request.type as UsageLimitPolicyBody['type'],
        creditLimit: request.creditLimit,
        alertThreshold: request.alertThreshold,
        ...resetOf(request, now()),
        countedSince: undefined,
      }));
      return create(CreateUsageLimitPolicyResponseSchema, { id, object: OBJECT });
    },

    async listUsageLimitPolicies(
      request: ListUsageLimitPoliciesRequest,
      call: Call,
    ): Promise<UsageLimitPolicyList> {
      const page = await policies.page(call, request);
      const at = now();
      const data = page.documents.map((document) => policyRecord(document, at));
      return create(UsageLimitPolicyListSchema, { ...listHead(page), data });
    },

    async getUsageLimitPolicy(request: GetUsageLimitPolicyRequest, call: Call): Promise<UsageLimitPolicy> {
      const found = await policies.find(call, request);
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
      const before = await policies.find(call, { policyId: request.policyId });
      const was = before.body;
      const after = policies.changed(call, before, request, (fields) => ({
        creditLimit: fields.always('credit_limit', request.creditLimit, was.creditLimit),
        alertThreshold: fields.optional('alert_threshold', request.alertThreshold, was.alertThreshold),
        ...changedReset(was, request, fields, now()),
        countedSince: countedSince(was, now()),
      }));
      const value = request.resetUsageForValue;
      if (value === undefined) await policies.stored.update(call, before, after);
      else {
        policies.checkTheirs(call, before, 'reset_usage_for_value');
        const entity = await findByValueKey(deps, before, value);
        if (entity === undefined)
          throw invalidField('reset_usage_for_value', 'is no value key that the policy has counted');
        await checkReset(deps, before, entity);
        await policies.stored.update(call, before, after, {
          also: [resetNote(entity, after.updatedAt)],
          after: { ...policies.stored.shown(after), reset_usage_for_value: value },
        });
        await resetEntity(deps, after, entity);
      }
      return create(UpdateUsageLimitPolicyResponseSchema);
    },

    async deleteUsageLimitPolicy(
      { policyId }: DeleteUsageLimitPolicyRequest,
      call: Call,
    ): Promise<DeleteUsageLimitPolicyResponse> {
      const before = await policies.find(call, { policyId });
      policies.checkTheirs(call, before, 'policy_id');
      await policies.stored.archive(call, before);
      return create(DeleteUsageLimitPolicyResponseSchema);
    },
  };
}

function entityMethods(deps: UsageLimitPoliciesDeps, policies: Policies) {
  const { changes, now } = deps;
  return {
    async listUsageLimitEntities(
      request: ListUsageLimitEntitiesRequest,
      call: Call,
    ): Promise<UsageLimitEntityList> {
      const policy = await policies.find(call, { policyId: request.policyId });
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
      { policyId, entityId }: ResetUsageLimitEntityRequest,
      call: Call,
    ): Promise<ResetUsageLimitEntityResponse> {
      const policy = await policies.find(call, { policyId });
      policies.checkTheirs(call, policy, 'entity_id');
      const entity = await findEntity(deps, policy, entityId);
      await checkReset(deps, policy, entity);
      const [read] = await readEntities(deps, policy, [entity]);
      const at = now();
      const before = read && shownEntity(read);
      const zero = { current_usage: 0, status: 'active', last_reset_at: timeText(at) };
      await changes.commit(call, tenantOf(policy), [resetNote(entity, at)], {
        id: policy.id,
        name: policy.body.name ?? '',
        workspaceId: policy.workspaceId,
        ...(before && { before, after: { ...before, ...zero } }),
      });
      await resetEntity(deps, policy, entity);
      return create(ResetUsageLimitEntityResponseSchema);
    },
  };
}

/** @param now Unix milliseconds: resets are shown as of then. */
function policyRecord(document: Document<UsageLimitPolicyBody>, now: number): UsageLimitPolicy {
  const { creditLimit, alertThreshold, periodicReset, periodicResetDays } = document.body;
  const schedule = scheduleOfPolicy(document.body);
  return create(UsageLimitPolicySchema, {
    ...policyMembers(document, 'deny'),
    object: OBJECT,
    creditLimit,
    alertThreshold,
    periodicReset,
    periodicResetDays,
    nextUsageResetAt: optionalTimeText(resetAfter(schedule, now)),
    lastResetAt: optionalTimeText(lastReset(schedule, now)),
  });
}
