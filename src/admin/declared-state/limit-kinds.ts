// Policies and prices in declared state.
import { ModelPriceSchema, ModelPricingService } from '../../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { RateLimitPoliciesService } from '../../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { UsageLimitPoliciesService } from '../../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import {
  type PolicyBody,
  type RateLimitPolicyBody,
  rateLimitPolicies,
  type UsageLimitPolicyBody,
  usageLimitPolicies,
} from '../../ledger/policies.ts';
import { type ModelPriceBody, modelPrices } from '../../ledger/prices/price-collections.ts';
import { codec } from '../../rest/codec.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { timeText } from '../kit/time.ts';
import { priceRecord } from '../model-pricing/record.ts';
import { saying, slugOfWorkspace } from './exported.ts';
import type { Kind, KindDeps } from './kind.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Of which kind a policy is; both stand in one list. */
export type PolicyKind = 'rate-limits' | 'usage-limits';

function common(kind: PolicyKind, document: Document<object>, { directory, organisationId }: KindDeps) {
  const body = document.body as PolicyBody;
  const one = (values: readonly string[]): Json => (values.length === 1 ? values[0]! : values);
  return {
    kind,
    name: body.name,
    workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
    conditions: body.conditions.map(({ key, values, excludes }) => ({
      key,
      value: one(values),
      ...(excludes === undefined ? {} : { excludes: one(excludes) }),
    })),
    group_by: body.groupBy.map((key) => ({ key })),
    on_store_outage: body.onStoreOutage,
    assumed_output_tokens: body.assumedOutputTokens,
    target: body.target,
  };
}

const withoutKind = ({ kind: _, ...members }: JsonObject): JsonObject => members;

const shared = {
  list: 'policies',
  id: 'policy_id',
  place: 'either',
  slugs: false,
  own: ['kind'],
  nameOf: ({ name }: JsonObject) => text(name),
  storedName: (document: Document<object>) => (document.body as PolicyBody).name,
  prepare: withoutKind,
} as const;

export const ratePolicyKind: Kind = {
  ...shared,
  collection: rateLimitPolicies,
  create: RateLimitPoliciesService.method.createRateLimitPolicy,
  update: RateLimitPoliciesService.method.updateRateLimitPolicy,
  remove: RateLimitPoliciesService.method.deleteRateLimitPolicy,
  async exported(document, deps) {
    const body = document.body as RateLimitPolicyBody;
    if (body.name === undefined) return undefined;
    const { type, unit, value } = body;
    return saying({ ...common('rate-limits', document, deps), type, unit, value });
  },
};

export const usagePolicyKind: Kind = {
  ...shared,
  collection: usageLimitPolicies,
  create: UsageLimitPoliciesService.method.createUsageLimitPolicy,
  update: UsageLimitPoliciesService.method.updateUsageLimitPolicy,
  remove: UsageLimitPoliciesService.method.deleteUsageLimitPolicy,
  async exported(document, deps) {
    const body = document.body as UsageLimitPolicyBody;
    if (body.name === undefined) return undefined;
    return saying({
      ...common('usage-limits', document, deps),
      type: body.type,
      credit_limit: body.creditLimit,
      alert_threshold: body.alertThreshold,
      periodic_reset: body.periodicReset,
      periodic_reset_days: body.periodicResetDays,
    });
  },
};

/** A price is found by what it is the price of, and from when on. */
const priceName = (provider: unknown, model: unknown, from: string | undefined): string =>
  `${String(provider)}/${String(model)}${from === undefined ? '' : ` from ${from}`}`;

export const priceKind: Kind = {
  list: 'prices',
  collection: modelPrices,
  create: ModelPricingService.method.createModelPrice,
  update: ModelPricingService.method.updateModelPrice,
  remove: ModelPricingService.method.deleteModelPrice,
  id: 'price_id',
  place: 'organisation',
  slugs: false,
  onlyNew: ['currency'],
  nameOf({ provider, model, effective_from: from }) {
    if (text(provider) === undefined || text(model) === undefined) return undefined;
    const at = typeof from === 'string' ? Date.parse(from) : Number.NaN;
    return priceName(provider, model, Number.isNaN(at) ? text(from) : timeText(at));
  },
  storedName(document) {
    const { provider, model, effectiveFrom } = document.body as ModelPriceBody;
    return priceName(provider, model, timeText(effectiveFrom));
  },
  // A price without a date is the newest of its model.
  isNamed: (name, stored) =>
    stored === name || (!name.includes(' from ') && stored.startsWith(`${name} from `)),
  async exported(document) {
    const record = codec.encode(ModelPriceSchema, priceRecord(document as Document<ModelPriceBody>));
    const { provider, model, effective_from: from, pay_as_you_go: price } = record as JsonObject;
    return saying({ provider, model, effective_from: from, pay_as_you_go: price });
  },
};
