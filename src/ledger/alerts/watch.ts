// Watches budgets for alerts, after the calls that are counted in them.
import type { BudgetRule } from '../limits/rule.ts';
import type { AlertLevel } from './alert.ts';

/** Called by admission and settlement. Never throws, never waits. */
export interface BudgetWatch {
  /** A budget was charged. @param key where it is counted @param spent its total after the charge */
  charged(organisationId: string, rule: BudgetRule, key: string, spent: bigint): void;
  /** A call was refused for a budget: it may be used up, or what is left of it is held. */
  refused(organisationId: string, rule: BudgetRule, key: string): void;
}

/** Answers for the alerts of budgets. */
export interface SentAlerts {
  /** Whether the alert of a budget's present period was sent, for its present limit and threshold. */
  isSent(organisationId: string, rule: BudgetRule, key: string, level: AlertLevel): boolean;
  /** Usage of a budget was reset by hand within its period. @throws GatewayError store_unavailable. */
  cleared(organisationId: string, budget: string): Promise<void>;
}
