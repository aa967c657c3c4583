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
  type ListUsageLimitPoliciesRequest,
  type UpdateUsageLimitPolicyRequest,
  type UpdateUsageLimitPolicyResponse,
  UpdateUsageLimitPolicyResponseSchema,
  type UsageLimitPolicy,
  type UsageLimitPolicyList,
  UsageLimitPolicyListSchema,
  UsageLimitPolicySchema,
} from '../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import type { Call } from '../access/call.ts';
import { type UsageLimitPolicyBody, usageLimitPolicies } from '../ledger/policies.ts';
import { codec } from '../rest/codec.ts';
import type { JsonObject } from '../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../store/documents.ts';
import { callerOf, scopeOf, targetWorkspace } from './caller.ts';
import type { IdentityFacts } from './identity-facts.ts';
import { listHead, newestFirst } from './lists.ts';
import { defined, patch } from './patch.ts';
import {
  conditionMessages,
  conditionsOf,
  findPolicy,
  groupKeysOf,
  groupMessages,
  policyWorkspace,
} from './policy-parts.ts';
import { timeText } from './time.ts';
import { changedReset, checkAmounts, resetOf } from './usage-limit-reset.ts';

const CLEARABLE = ['name', 'alert_threshold', 'periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'];
const OBJECT = 'policy_usage_limits';

/** The methods of UsageLimitPoliciesService. */
export function usageLimitPoliciesService({ documents, changes, directory, now }: IdentityFacts) {
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
      const body = defined<UsageLimitPolicyBody>({
        name: request.name,
        conditions: conditionsOf(request.conditions),
        groupBy: groupKeysOf(request.groupBy),
        type: request.type as UsageLimitPolicyBody['type'],
        creditLimit: request.creditLimit,
        alertThreshold: request.alertThreshold,
        ...resetOf(request, now()),
      });
      checkAmounts(body);
      const [id, createdAt] = [randomUUID(), now()];
      const made: Document<UsageLimitPolicyBody> = {
        ...{ id, organisationId, createdAt, updatedAt: createdAt, body },
        ...{ version: 1, schemaVersion: 1, status: 'active' },
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
      const data = page.documents.map(policyRecord);
      return create(UsageLimitPolicyListSchema, { ...listHead(page), data });
    },

    async getUsageLimitPolicy(request: GetUsageLimitPolicyRequest, call: Call): Promise<UsageLimitPolicy> {
      return policyRecord(await find(call, request.policyId, request.status));
    },

    async updateUsageLimitPolicy(
      request: UpdateUsageLimitPolicyRequest,
      call: Call,
    ): Promise<UpdateUsageLimitPolicyResponse> {
      const before = await find(call, request.policyId);
      const { organisationId, workspaceId, body: was } = before;
      const fields = patch(request.clear, CLEARABLE);
      const body = defined<UsageLimitPolicyBody>({
        name: fields.optional('name', request.name, was.name),
        conditions: request.conditions.length > 0 ? conditionsOf(request.conditions) : was.conditions,
        groupBy: was.groupBy,
        type: was.type,
        creditLimit: fields.always('credit_limit', request.creditLimit, was.creditLimit),
        alertThreshold: fields.optional('alert_threshold', request.alertThreshold, was.alertThreshold),
        ...changedReset(was, request, fields, now()),
      });
      checkAmounts(body);
      const change = { body, updatedAt: now() };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [updateOperation(usageLimitPolicies, before.id, before.version, change)],
        {
          ...{ id: before.id, name: body.name ?? '', workspaceId },
          before: shown(before),
          after: shown({ ...before, ...change }),
        },
      );
      return create(UpdateUsageLimitPolicyResponseSchema);
    },

    async deleteUsageLimitPolicy(
      request: DeleteUsageLimitPolicyRequest,
      call: Call,
    ): Promise<DeleteUsageLimitPolicyResponse> {
      const before = await find(call, request.policyId);
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

function policyRecord(document: Document<UsageLimitPolicyBody>): UsageLimitPolicy {
  const { id, organisationId, workspaceId, status, createdAt, updatedAt, body } = document;
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
    ...(body.nextUsageResetAt === undefined ? {} : { nextUsageResetAt: timeText(body.nextUsageResetAt) }),
    status,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    organisationId,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

function shown(document: Document<UsageLimitPolicyBody>): JsonObject {
  return codec.encode(UsageLimitPolicySchema, policyRecord(document)) as JsonObject;
}
