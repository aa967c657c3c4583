// Rate-limit policies: made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateRateLimitPolicyRequest,
  type CreateRateLimitPolicyResponse,
  CreateRateLimitPolicyResponseSchema,
  type DeleteRateLimitPolicyRequest,
  type DeleteRateLimitPolicyResponse,
  DeleteRateLimitPolicyResponseSchema,
  type GetRateLimitPolicyRequest,
  type ListRateLimitPoliciesRequest,
  type RateLimitPolicy,
  type RateLimitPolicyList,
  RateLimitPolicyListSchema,
  RateLimitPolicySchema,
  type UpdateRateLimitPolicyRequest,
  type UpdateRateLimitPolicyResponse,
  UpdateRateLimitPolicyResponseSchema,
} from '../../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import type { Call } from '../../call/call.ts';
import { type RateLimitPolicyBody, rateLimitPolicies } from '../../ledger/policies.ts';
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
import { RATE_POLICY_RULES } from '../kit/bound-rules.ts';
import { bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, scopeOf, targetWorkspace } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
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

const OBJECT = 'policy_rate_limits';

/** The methods of RateLimitPoliciesService. */
export function rateLimitPoliciesService(deps: IdentityDeps) {
  const { documents, changes, directory, now } = deps;
  const find = (call: Call, id: string, status?: string) =>
    findPolicy(documents, callerOf(call), rateLimitPolicies, id, status);

  return {
    async createRateLimitPolicy(
      request: CreateRateLimitPolicyRequest,
      call: Call,
    ): Promise<CreateRateLimitPolicyResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = policyWorkspace(directory, caller, request);
      await checkRoom(documents, organisationId);
      const given = defined<RateLimitPolicyBody>({
        name: request.name,
        conditions: conditionsOf(request.conditions),
        groupBy: groupKeysOf(request.groupBy),
        type: request.type as RateLimitPolicyBody['type'],
        unit: request.unit as RateLimitPolicyBody['unit'],
        value: request.value,
        onStoreOutage: request.onStoreOutage as RateLimitPolicyBody['onStoreOutage'],
        assumedOutputTokens: request.assumedOutputTokens,
        ...targetOf(request.target),
      });
      checkAssumed(given);
      checkTarget(given);
      checkUnit(given);
      const body = bounded(deps, caller, RATE_POLICY_RULES, undefined, given);
      const [id, createdAt] = [randomUUID(), now()];
      const made: Document<RateLimitPolicyBody> = {
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
        [insertOperation(rateLimitPolicies, { id, createdAt, body })],
        { id, name: body.name ?? '', workspaceId, after: shown(made) },
      );
      return create(CreateRateLimitPolicyResponseSchema, { id, object: OBJECT });
    },

    async listRateLimitPolicies(
      request: ListRateLimitPoliciesRequest,
      call: Call,
    ): Promise<RateLimitPolicyList> {
      const caller = callerOf(call);
      const filter: Condition[] = [];
      if (request.type !== undefined) filter.push({ field: 'type', op: 'eq', value: request.type });
      if (request.unit !== undefined) filter.push({ field: 'unit', op: 'eq', value: request.unit });
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
      const page = await documents.page({ ...scopeOf(caller), workspaceId }, rateLimitPolicies, {
        ...newestFirst(request),
        filter,
        status: request.status === 'archived' ? 'archived' : 'active',
      });
      const data = page.documents.map(policyRecord);
      return create(RateLimitPolicyListSchema, { ...listHead(page), data });
    },

    async getRateLimitPolicy(request: GetRateLimitPolicyRequest, call: Call): Promise<RateLimitPolicy> {
      return policyRecord(await find(call, request.policyId, request.status));
    },

    async updateRateLimitPolicy(
      request: UpdateRateLimitPolicyRequest,
      call: Call,
    ): Promise<UpdateRateLimitPolicyResponse> {
      const before = await find(call, request.policyId);
      const { organisationId, workspaceId, body: was } = before;
      checkSameTarget(was, request.target);
      const fields = patch(request.clear, ['name', 'on_store_outage', 'assumed_output_tokens']);
      const given = defined<RateLimitPolicyBody>({
        name: fields.optional('name', request.name, was.name),
        conditions: request.conditions.length > 0 ? conditionsOf(request.conditions) : was.conditions,
        groupBy: was.groupBy,
        type: was.type,
        unit: fields.always('unit', request.unit as RateLimitPolicyBody['unit'] | undefined, was.unit),
        value: fields.always('value', request.value, was.value),
        onStoreOutage: fields.optional(
          'on_store_outage',
          request.onStoreOutage as RateLimitPolicyBody['onStoreOutage'],
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
      checkUnit(given);
      const body = bounded(deps, callerOf(call), RATE_POLICY_RULES, was, given);
      const change = { body, updatedAt: now() };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [updateOperation(rateLimitPolicies, before.id, before.version, change)],
        {
          id: before.id,
          name: body.name ?? '',
          workspaceId,
          before: shown(before),
          after: shown({ ...before, ...change }),
        },
      );
      return create(UpdateRateLimitPolicyResponseSchema);
    },

    async deleteRateLimitPolicy(
      request: DeleteRateLimitPolicyRequest,
      call: Call,
    ): Promise<DeleteRateLimitPolicyResponse> {
      const before = await find(call, request.policyId);
      checkTheirs(deps, call, before.body, 'policy_id');
      const { organisationId, workspaceId } = before;
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [archiveOperation(rateLimitPolicies, before.id, order)],
        { id: before.id, name: before.body.name ?? '', workspaceId, before: shown(before) },
      );
      return create(DeleteRateLimitPolicyResponseSchema);
    },
  };
}

/** @throws GatewayError forbidden for a policy that a higher level made: it is neither removed nor reset below. */
function checkTheirs(
  { directory }: IdentityDeps,
  call: Call,
  body: RateLimitPolicyBody,
  field: string,
): void {
  const set = setAboveCaller(directory, callerOf(call), body, 'value', body.value);
  if (set !== undefined) throw setByHigher(field, set);
}

/** @throws GatewayError validation_failed: tokens are in flight in no number that anybody knows. */
function checkUnit({ type, unit }: RateLimitPolicyBody): void {
  if (unit === 'concurrent' && type !== 'requests')
    throw invalidField('unit', 'must not be concurrent for tokens');
}

function policyRecord(document: Document<RateLimitPolicyBody>): RateLimitPolicy {
  const { id, organisationId, workspaceId, status, createdAt, updatedAt, body } = document;
  return create(RateLimitPolicySchema, {
    id,
    object: OBJECT,
    ...(body.name === undefined ? {} : { name: body.name }),
    conditions: conditionMessages(body.conditions),
    groupBy: groupMessages(body.groupBy),
    type: body.type,
    unit: body.unit,
    value: body.value,
    onStoreOutage: body.onStoreOutage ?? 'allow',
    ...shownAssumed(body),
    target: body.target ?? 'llm',
    status,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    organisationId,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

function shown(document: Document<RateLimitPolicyBody>): JsonObject {
  return codec.encode(RateLimitPolicySchema, policyRecord(document)) as JsonObject;
}
