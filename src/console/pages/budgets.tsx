// Budgets: what each may spend, what it spent, what calls in flight hold.
import { BudgetsService } from '../../../gen/gateway/admin/v2/budgets_pb.ts';
import { client } from '../api.ts';
import { moment, whole } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

export default function Budgets() {
  const { value, error, reload } = useLoaded('budgets', (signal) =>
    client(BudgetsService).listBudgets({ pageSize: 1000 }, { signal }),
  );
  return (
    <>
      <Head title="Budgets">
        <button type="button" onClick={reload}>
          Refresh
        </button>
      </Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Budgets"
          columns={['Name', 'Of', 'Limit', 'Spent', 'Held', 'Free', 'Status', 'Starts again']}
          rows={value.data.map((budget) => [
            <bdi key="name">{budget.name.slice(0, 120)}</bdi>,
            budget.kind,
            amount(budget.type, budget.creditLimit),
            amount(budget.type, budget.spent),
            amount(budget.type, budget.held),
            amount(budget.type, budget.free),
            budget.status ?? 'unknown',
            budget.nextUsageResetAt === undefined ? 'never' : moment(budget.nextUsageResetAt),
          ])}
          empty={
            <>
              No budget is set. A budget caps what a key, a workspace, a provider or a group of callers
              spends: <a href={href('/keys')}>make a key</a> with one, or a policy.
            </>
          }
        />
      )}
    </>
  );
}

function amount(type: string, value: number | undefined): string {
  if (value === undefined) return 'unknown';
  if (type !== 'cost') return `${whole(value)} ${type}`;
  return `$${value.toFixed(12).replace(/\.?0+$/, '')}`;
}
