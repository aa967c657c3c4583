// Budgets: every usage limit that the caller may see, with what was spent and what is held.
import { create } from '@bufbuild/protobuf';
import {
  type Budget,
  type BudgetList,
  BudgetListSchema,
  BudgetSchema,
  type ListBudgetsRequest,
} from '../../../gen/gateway/admin/v2/budgets_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import { ownUser } from '../api-keys/access.ts';
import { callerOf, targetScope } from '../kit/caller.ts';
import { timeText } from '../kit/time.ts';
import { type CarriedBudget, type CarriedDeps, carriedBudgets, MOST } from './carried-budgets.ts';

export interface BudgetsDeps extends CarriedDeps {
  readonly usage: UsageReader;
}

const DEFAULT_PAGE_SIZE = 100;

/** The methods of BudgetsService. */
export function budgetsService(deps: BudgetsDeps) {
  return {
    async listBudgets(request: ListBudgetsRequest, call: Call): Promise<BudgetList> {
      const { currentPage = 0, pageSize = DEFAULT_PAGE_SIZE, kind } = request;
      const caller = callerOf(call);
      const scope = targetScope(deps.directory, caller, request.workspaceId);
      const found = await carriedBudgets(deps, scope, ownUser(deps.directory, caller));
      const meant = kind === undefined ? found : found.filter((one) => one.kind === kind);
      const page = meant.slice(currentPage * pageSize, (currentPage + 1) * pageSize);
      const usage = await Promise.all(page.map(({ rule }) => deps.usage.read(scope.organisationId, rule)));
      return create(BudgetListSchema, {
        object: 'list',
        total: BigInt(meant.length),
        totalCapped: found.length >= MOST,
        data: page.map((budget, i) => budgetRecord(budget, usage[i])),
      });
    },
  };
}

function budgetRecord(
  { kind, id, name, workspaceId, creditLimit, rule }: CarriedBudget,
  usage: Usage | undefined,
): Budget {
  const common = { object: 'budget', kind, id, name, workspaceId, type: rule.type, creditLimit };
  if (usage === undefined) return create(BudgetSchema, common);
  return create(BudgetSchema, {
    ...common,
    spent: usage.current,
    held: usage.held,
    free: usage.free,
    status: usage.exhausted ? 'exhausted' : 'active',
    ...(usage.nextResetAt === undefined ? {} : { nextUsageResetAt: timeText(usage.nextResetAt) }),
  });
}
