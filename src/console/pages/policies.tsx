// Policies: limits on groups of callers.
import { RateLimitPoliciesService } from '../../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { UsageLimitPoliciesService } from '../../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { client } from '../api.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';

export default function Policies() {
  const { value, error } = useLoaded('policies', async (signal) => {
    const [rates, usage] = await Promise.all([
      client(RateLimitPoliciesService).listRateLimitPolicies({ pageSize: 100 }, { signal }),
      client(UsageLimitPoliciesService).listUsageLimitPolicies({ pageSize: 100 }, { signal }),
    ]);
    return { rates: rates.data, usage: usage.data };
  });
  return (
    <>
      <Head title="Policies" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <>
          <h2>Budgets of groups</h2>
          <Table
            label="Usage policies"
            columns={['Name', 'Limit', 'By', 'Status']}
            rows={value.usage.map((policy) => [
              <bdi key="name">{policy.name ?? policy.id}</bdi>,
              `${policy.creditLimit} ${policy.type}`,
              policy.groupBy.map(({ key }) => key).join(', '),
              policy.status,
            ])}
            empty="No policy. A usage policy gives each group of callers, e.g. each key, a budget: POST /v1/policies/usage-limits makes one."
          />
          <h2>Rates of groups</h2>
          <Table
            label="Rate policies"
            columns={['Name', 'Limit', 'By', 'Status']}
            rows={value.rates.map((policy) => [
              <bdi key="name">{policy.name ?? policy.id}</bdi>,
              `${policy.value} ${policy.type} ${policy.unit}`,
              policy.groupBy.map(({ key }) => key).join(', '),
              policy.status,
            ])}
            empty="No policy. A rate policy bounds what each group of callers sends: POST /v1/policies/rate-limits makes one."
          />
        </>
      )}
    </>
  );
}
