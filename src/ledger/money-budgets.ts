// Which budgets a request's cost was charged to, for its entry: whoever corrects its cost later corrects them as well.

/** Keys of those that count money; undefined when there is none. */
export function moneyBudgets(
  charged: readonly { readonly key: string; readonly type: string }[] | undefined,
): readonly string[] | undefined {
  const money = charged?.filter(({ type }) => type === 'cost').map(({ key }) => key) ?? [];
  return money.length === 0 ? undefined : money;
}

/** The same of rules with the limits that they became. */
export function moneyBudgetsOf(
  counted: Iterable<{
    readonly rule: { readonly kind: string; readonly type?: string };
    readonly limit: { readonly key: string };
  }>,
): readonly string[] | undefined {
  const keys: string[] = [];
  for (const { rule, limit } of counted)
    if (rule.kind === 'budget' && rule.type === 'cost') keys.push(limit.key);
  return keys.length === 0 ? undefined : keys;
}
