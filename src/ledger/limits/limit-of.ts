// A rule as the store counts it for one call: where, and the most that the call may take of it.
import type { BudgetLimit, Limit } from '../../store/shared-state.ts';
import { periodOf } from './period.ts';
import { type BudgetRule, MOST, type Rule } from './rule.ts';
import { budgetKey, budgetPool } from './usage.ts';

/** A rule and what a call takes of it. */
export interface Counted {
  readonly rule: Rule;
  readonly limit: Limit;
}

/** The most that a call may use, by what a rule assumes of calls that state no maximum. */
export interface WorstCase {
  readonly tokens: (assumedOutput: number | undefined) => number;
  /** In 1e-12 USD. Without a known price one unit: a spent budget stays spent. */
  readonly cost: (assumedOutput: number | undefined) => bigint;
}

/** More tokens than any call uses. */
export const MOST_TOKENS = 1_000_000_000;

/** How long a budget is kept after the end of its period, in milliseconds: for calls that are settled late. */
const KEPT_MS = 7 * 86_400_000;

/** The limit of a rule for one call. @param now Unix milliseconds */
export function limitOf(rule: Rule, worst: WorstCase, now: number): Limit {
  switch (rule.kind) {
    case 'rate': {
      const cost = rule.type === 'tokens' ? worst.tokens(rule.assumedOutput) : 1;
      const { id: key, limit, windowMs, pool } = rule;
      return { kind: 'window', key, limit, windowMs, cost, ...(pool === undefined ? {} : { pool }) };
    }
    case 'slots':
      return { kind: 'slots', key: rule.id, limit: rule.limit };
    case 'budget':
      return budgetOf(rule, worst, now);
  }
}

function budgetOf(rule: BudgetRule, { tokens, cost }: WorstCase, now: number): BudgetLimit {
  const { type, assumedOutput, schedule } = rule;
  const amount =
    type === 'cost' ? cost(assumedOutput) : type === 'tokens' ? BigInt(tokens(assumedOutput)) : 1n;
  const { end } = periodOf(schedule, now);
  const pool = budgetPool(rule, now);
  return {
    kind: 'budget',
    key: budgetKey(rule, now),
    cap: rule.cap,
    amount: amount < MOST ? amount : MOST,
    ...(end === undefined ? {} : { keepUntil: end + KEPT_MS }),
    ...(pool === undefined ? {} : { pool }),
  };
}
