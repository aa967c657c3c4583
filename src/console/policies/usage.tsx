// Budgets of groups.
import { UsageLimitPoliciesService } from '../../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { Action } from '../action.tsx';
import { client, may } from '../api.ts';
import { Amount, Select } from '../fields.tsx';
import { Alert, Table, useLoaded } from '../parts.tsx';
import type { PolicyKind } from './kind.ts';
import { conditionsText } from './list.tsx';

const policies = () => client(UsageLimitPoliciesService);

export const USAGE: PolicyKind = {
  title: 'Budgets of groups',
  label: 'Usage policies',
  add: 'New usage policy',
  empty:
    'A usage policy gives each group of callers a budget of its own, e.g. 50 dollars a month to each API key. New usage policy makes the first one.',
  fields: () => (
    <>
      <Select
        label="Of"
        name="type"
        options={[
          ['cost', 'Dollars'],
          ['tokens', 'Tokens'],
          ['requests', 'Requests'],
        ]}
      />
      <Amount label="Limit" name="limit" required min="0" step="any" />
      <Select
        label="Starts again"
        name="reset"
        options={[
          ['', 'Never'],
          ['weekly', 'Each week'],
          ['monthly', 'Each month'],
        ]}
      />
    </>
  ),
  list: async (signal) =>
    (await policies().listUsageLimitPolicies({ pageSize: 100 }, { signal })).data.map((policy) => ({
      id: policy.id,
      name: policy.name ?? policy.id,
      limit: `${policy.creditLimit} ${policy.type}${policy.periodicReset === undefined ? '' : `, ${policy.periodicReset}`}`,
      conditions: conditionsText(policy.conditions),
      groups: policy.groupBy.map(({ key }) => key).join(', '),
      status: policy.status,
      managedBy: policy.managedBy,
    })),
  create: ({ type = 'cost', limit, reset }, whom) =>
    policies().createUsageLimitPolicy({
      ...whom,
      type,
      creditLimit: Number(limit),
      ...(reset === undefined ? {} : { periodicReset: reset }),
    }),
  change: (policyId, creditLimit) => policies().updateUsageLimitPolicy({ policyId, creditLimit }),
  remove: (policyId) => policies().deleteUsageLimitPolicy({ policyId }),
  Groups,
};

/** What each group has used, and how it starts again. */
function Groups({ policyId }: { readonly policyId: string }) {
  const { value, error, reload } = useLoaded(policyId, (signal) =>
    policies().listUsageLimitEntities({ policyId, pageSize: 100 }, { signal }),
  );
  const reset = async (entityId: string): Promise<void> => {
    await policies().resetUsageLimitEntity({ policyId, entityId });
    reload();
  };
  const groups = value?.data ?? [];
  if (error !== undefined) return <Alert>{error}</Alert>;
  if (value === undefined) return <p class="empty">Loading…</p>;
  return (
    <Table
      label="Groups"
      columns={['Group', 'Used', 'Status', '']}
      keys={groups.map(({ id }) => id)}
      rows={groups.map(({ id, valueKey, currentUsage, status }) => [
        <bdi key="group">{valueKey}</bdi>,
        String(currentUsage),
        status,
        may('policies.update') && (
          <Action key="reset" name="Reset" label={`Reset ${valueKey}`} run={() => reset(id)} />
        ),
      ])}
      empty="No call of a group was counted yet."
    />
  );
}
