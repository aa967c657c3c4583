// Which budgets a request was charged to, for its entry: later corrections of its cost and checks of budgets' totals
// read them there.

/** What a budget counts. */
export type BudgetType = 'cost' | 'tokens' | 'requests';

/** A budget that counts money has its key for a name, others have what they count before it. */
const NAMED = /^(tokens|requests)\|(.*)$/s;

/** Names of the budgets; undefined when there is none. */
export function chargedBudgets(
  charged: readonly { readonly key: string; readonly type: BudgetType }[] | undefined,
): readonly string[] | undefined {
  if (charged === undefined || charged.length === 0) return undefined;
  return charged.map(({ key, type }) => (type === 'cost' ? key : `${type}|${key}`));
}

/** The same of rules with the limits that they became. */
export function chargedBudgetsOf(
  counted: Iterable<{
    readonly rule: { readonly kind: string; readonly type?: string };
    readonly limit: { readonly key: string };
  }>,
): readonly string[] | undefined {
  const charged: { key: string; type: BudgetType }[] = [];
  for (const { rule, limit } of counted)
    if (rule.kind === 'budget') charged.push({ key: limit.key, type: rule.type as BudgetType });
  return chargedBudgets(charged);
}

/** What a name says. */
export function budgetNamed(name: string): { readonly key: string; readonly type: BudgetType } {
  const [, type, key = name] = NAMED.exec(name) ?? [];
  return { key, type: (type as BudgetType | undefined) ?? 'cost' };
}
