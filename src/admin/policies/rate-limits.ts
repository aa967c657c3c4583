// Rate-limit policies: made, listed, changed, archived.
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
import type { Document } from '../../store/documents.ts';
import { RATE_POLICY_RULES } from '../kit/bound-rules.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { shownAs } from '../kit/resource.ts';
import { type PolicyKind, policyMembers, policyOperations } from './policy-operations.ts';

type Unit = RateLimitPolicyBody['unit'];

const OBJECT = 'policy_rate_limits';

const KIND: PolicyKind<RateLimitPolicyBody> = {
  collection: rateLimitPolicies,
  shown: shownAs(RateLimitPolicySchema, policyRecord),
  rules: RATE_POLICY_RULES,
  amount: 'value',
  amountField: 'value',
  clearable: [],
  filters: ['type', 'unit'],
  check: checkUnit,
};

/** The methods of RateLimitPoliciesService. */
export function rateLimitPoliciesService(deps: IdentityDeps) {
  const policies = policyOperations(deps, KIND);

  return {
    async createRateLimitPolicy(
      request: CreateRateLimitPolicyRequest,
      call: Call,
    ): Promise<CreateRateLimitPolicyResponse> {
      const { id } = await policies.create(call, request, () => ({
        type: request.type as RateLimitPolicyBody['type'],
        unit: request.unit as Unit,
        value: request.value,
      }));
      return create(CreateRateLimitPolicyResponseSchema, { id, object: OBJECT });
    },

    async listRateLimitPolicies(
      request: ListRateLimitPoliciesRequest,
      call: Call,
    ): Promise<RateLimitPolicyList> {
      const page = await policies.page(call, request);
      return create(RateLimitPolicyListSchema, { ...listHead(page), data: page.documents.map(policyRecord) });
    },

    async getRateLimitPolicy(request: GetRateLimitPolicyRequest, call: Call): Promise<RateLimitPolicy> {
      return policyRecord(await policies.find(call, request));
    },

    async updateRateLimitPolicy(
      request: UpdateRateLimitPolicyRequest,
      call: Call,
    ): Promise<UpdateRateLimitPolicyResponse> {
      const before = await policies.find(call, { policyId: request.policyId });
      const after = policies.changed(call, before, request, (fields) => ({
        unit: fields.always('unit', request.unit as Unit | undefined, before.body.unit),
        value: fields.always('value', request.value, before.body.value),
      }));
      await policies.stored.update(call, before, after);
      return create(UpdateRateLimitPolicyResponseSchema);
    },

    async deleteRateLimitPolicy(
      { policyId }: DeleteRateLimitPolicyRequest,
      call: Call,
    ): Promise<DeleteRateLimitPolicyResponse> {
      const before = await policies.find(call, { policyId });
      policies.checkTheirs(call, before, 'policy_id');
      await policies.stored.archive(call, before);
      return create(DeleteRateLimitPolicyResponseSchema);
    },
  };
}

/** @throws GatewayError validation_failed: how many tokens are in flight is not known. */
function checkUnit({ type, unit }: RateLimitPolicyBody): void {
  if (unit === 'concurrent' && type !== 'requests')
    throw invalidField('unit', 'must not be concurrent for tokens');
}

function policyRecord(document: Document<RateLimitPolicyBody>): RateLimitPolicy {
  const { unit, value } = document.body;
  return create(RateLimitPolicySchema, { ...policyMembers(document, 'allow'), object: OBJECT, unit, value });
}
