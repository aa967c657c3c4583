// The present usage of budgets.

import { fail } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { BudgetPool, BudgetReading, SharedState } from '../../store/shared-state.ts';
import type { AlertLevel } from '../alerts/alert.ts';
import type { SentAlerts } from '../alerts/watch.ts';
import { inDollars } from '../prices/price-list.ts';
import { lastReset, periodOf, resetAfter } from './period.ts';
import { type BudgetRule, budgetRule } from './rule.ts';

/** A budget now. Amounts are in what it counts: US dollars, tokens or requests. Times are Unix milliseconds. */
export interface Usage {
  readonly current: number;
  /** Held by calls in flight. */
  readonly held: number;
  /** What is left of the cap. */
  readonly free: number;
  readonly exhausted: boolean;
  /** Whether the alerts of the present period were sent, for the present limit and threshold. */
  readonly thresholdAlertSent: boolean;
  readonly exhaustedAlertSent: boolean;
  readonly lastResetAt: number | undefined;
  readonly nextResetAt: number | undefined;
}

export interface UsageDeps {
  readonly state: SharedState;
  /** Knows which alerts were sent; undefined: none are. */
  readonly alerts?: SentAlerts | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Where a budget is counted at a time. */
export function budgetKey({ id, schedule }: BudgetRule, now: number): string {
  return `${id}:${periodOf(schedule, now).name}`;
}

/** The pool that a budget is one of at a time; undefined: it is one by itself. */
export function budgetPool({ pool, schedule }: BudgetRule, now: number): BudgetPool | undefined {
  if (pool === undefined) return undefined;
  const { name } = periodOf(schedule, now);
  return { key: `${pool.id}:${name}`, most: pool.most, others: `${pool.others}:${name}` };
}

/** Reads budgets, and sets them to zero. */
export class UsageReader {
  readonly #deps: UsageDeps;

  constructor(deps: UsageDeps) {
    this.#deps = deps;
  }

  /** Undefined when the shared store does not answer: the usage is unknown then. */
  async read(organisationId: string, rule: BudgetRule): Promise<Usage | undefined> {
    const { state, alerts, now, onTrouble } = this.#deps;
    const sent = (key: string, level: AlertLevel): boolean =>
      alerts?.isSent(organisationId, rule, key, level) ?? false;
    const at = now();
    try {
      const key = budgetKey(rule, at);
      const pool = budgetPool(rule, at);
      const request = { key, cap: rule.cap, ...(pool === undefined ? {} : { pool }) };
      const { spent, held, free = 0n } = await state.readBudget(organisationId, request);
      return {
        current: shown(rule, spent),
        held: shown(rule, held),
        free: shown(rule, free),
        exhausted: spent >= rule.cap,
        thresholdAlertSent: rule.threshold !== undefined && sent(key, 'threshold'),
        exhaustedAlertSent: sent(key, 'exhausted'),
        lastResetAt: lastReset(rule.schedule, at),
        nextResetAt: resetAfter(rule.schedule, at),
      };
    } catch (error) {
      onTrouble(error, 'a budget could not be read');
      return undefined;
    }
  }

  /**
   * The usage of a limit that something carries.
   * @param owner as admission names it, e.g. `key:<id>` @param resetAt when it was reset by hand
   * @param place among the limits of its owner
   */
  readLimit(
    organisationId: string,
    owner: string,
    limit: JsonObject,
    resetAt: number | undefined,
    place = 0,
  ): Promise<Usage | undefined> {
    return this.read(organisationId, budgetRule(limit, owner, '', resetAt, place));
  }

  /**
   * What a reset begins from.
   * @throws GatewayError store_unavailable; conflict for a budget that is counted together with others
   */
  async checkReset(organisationId: string, rule: BudgetRule): Promise<BudgetReading> {
    const at = this.#deps.now();
    const key = budgetKey(rule, at);
    const pool = budgetPool(rule, at);
    const read = await this.#deps.state.readBudget(
      organisationId,
      pool === undefined ? { key } : { key, pool },
    );
    if (read.together)
      throw fail(
        'conflict',
        `the policy counts ${pool?.most} groups apart and this one together with others, so it cannot be reset alone; raise the policy's credit_limit`,
      );
    return read;
  }

  /**
   * Usage of the present period restarts from zero; amounts that calls in flight hold are charged when they end.
   * @throws GatewayError store_unavailable; conflict for one that is counted together with others
   */
  async reset(organisationId: string, rule: BudgetRule): Promise<void> {
    const { state, alerts, now } = this.#deps;
    let { spent } = await this.checkReset(organisationId, rule);
    const key = budgetKey(rule, now());
    // Calls that are settled meanwhile are part of the reset.
    for (;;) {
      if (spent === 0n) break;
      const written = await state.correctBudget(organisationId, { key, from: spent, to: 0n });
      if (written.corrected) break;
      spent = written.spent;
    }
    await alerts?.cleared(organisationId, rule.id);
  }
}

function shown({ type }: BudgetRule, amount: bigint): number {
  return type === 'cost' ? inDollars(amount) : Number(amount);
}
