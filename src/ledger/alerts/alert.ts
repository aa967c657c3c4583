// A budget alert as it is stored: one document for a budget and a level, which each crossing claims anew.
import { hash } from 'node:crypto';
import { type Collection, defineCollection } from '../../store/collection.ts';
import type { BudgetRule } from '../limits/rule.ts';

/** What was reached: the alert threshold, or the limit itself. */
export type AlertLevel = 'threshold' | 'exhausted';

/** Amounts are whole numbers in decimal digits, of what the budget counts (1e-12 USD); times are Unix milliseconds. */
export interface AlertBody {
  /** The budget's rule, e.g. `u:key:<id>:cost`. */
  readonly budget: string;
  readonly level: AlertLevel;
  /** Where it was counted: the key holds its period. */
  readonly key: string;
  readonly type: BudgetRule['type'];
  /** The budget in words. */
  readonly name: string;
  /** The limit and the threshold that held then. */
  readonly cap: string;
  readonly threshold?: string;
  readonly spent: string;
  readonly noticedAt: number;
  /** The document's version that claimed the crossing: it identifies this alert among the budget's alerts. */
  readonly claim: number;
  /** `failed`: given up. `cleared`: usage was reset by hand. */
  readonly state: 'due' | 'sent' | 'failed' | 'cleared';
  /** Recipients that have received it already. */
  readonly done: readonly string[];
  readonly tries: number;
  readonly nextTryAt: number;
  readonly sentAt?: number;
}

export const budgetAlerts: Collection<AlertBody> = defineCollection<AlertBody>({
  name: 'budget_alerts',
  schemaVersion: 1,
  noticed: true,
});

/** All collections of this room. */
export const alertCollections: readonly Collection<object>[] = [budgetAlerts];

/** A crossing that was noticed. */
export interface Crossing {
  readonly organisationId: string;
  readonly rule: BudgetRule;
  readonly level: AlertLevel;
  readonly key: string;
  readonly spent: bigint;
}

/** The document of a budget and a level: the same in all instances, so that a crossing is claimed once. */
export function alertId(budget: string, level: AlertLevel): string {
  return hash('sha256', `${budget} ${level}`, 'hex').slice(0, 40);
}

/**
 * Whether a crossing was claimed already: of the same period, and neither the limit nor the threshold was raised
 * since. One that was lowered is reached as it was before.
 */
export function covers(
  alert: AlertBody,
  { level, key, rule }: Pick<Crossing, 'level' | 'key' | 'rule'>,
): boolean {
  if (alert.state === 'cleared' || alert.key !== key || BigInt(alert.cap) < rule.cap) return false;
  if (level === 'exhausted') return true;
  return rule.threshold !== undefined && BigInt(alert.threshold ?? 0) >= rule.threshold;
}
