// Rates of groups.
import { RateLimitPoliciesService } from '../../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { client } from '../api.ts';
import { Amount, Select } from '../fields.tsx';
import type { PolicyKind } from './kind.ts';
import { conditionsText } from './list.tsx';

const policies = () => client(RateLimitPoliciesService);

const UNITS = [
  ['rpm', 'A minute'],
  ['rph', 'An hour'],
  ['rpd', 'A day'],
  ['concurrent', 'At once'],
] as const;

export const RATES: PolicyKind = {
  title: 'Rates of groups',
  label: 'Rate policies',
  add: 'New rate policy',
  empty:
    'A rate policy bounds what each group of callers sends, e.g. 60 requests a minute for each API key. New rate policy makes the first one.',
  fields: () => (
    <>
      <Select
        label="Of"
        name="type"
        options={[
          ['requests', 'Requests'],
          ['tokens', 'Tokens'],
        ]}
      />
      <Amount label="Limit" name="limit" required min="1" step="1" />
      <Select label="Within" name="unit" options={UNITS} />
    </>
  ),
  list: async (signal) =>
    (await policies().listRateLimitPolicies({ pageSize: 100 }, { signal })).data.map((policy) => ({
      id: policy.id,
      name: policy.name ?? policy.id,
      limit: `${policy.value} ${policy.type} ${policy.unit}`,
      conditions: conditionsText(policy.conditions),
      groups: policy.groupBy.map(({ key }) => key).join(', '),
      status: policy.status,
      managedBy: policy.managedBy,
    })),
  create: ({ type = 'requests', unit = 'rpm', limit }, whom) =>
    policies().createRateLimitPolicy({ ...whom, type, unit, value: Number(limit) }),
  change: (policyId, value) => policies().updateRateLimitPolicy({ policyId, value }),
  remove: (policyId) => policies().deleteRateLimitPolicy({ policyId }),
};
