// A limit that may apply to calls, compiled once: of a key, a workspace, a token, a stored provider or a policy.
import type { JsonObject } from '../../store/collection.ts';
import type { WindowPool } from '../../store/shared-state.ts';
import type { OnStoreOutage } from '../policies.ts';
import { dollarsOf } from '../prices/price-list.ts';
import { scheduleOf } from './kept-limit.ts';
import type { Schedule } from './period.ts';

/** A rate: so many in any span. */
export interface RateRule {
  readonly kind: 'rate';
  /** Where it is counted. */
  readonly id: string;
  /** In words, for refusals. */
  readonly name: string;
  readonly type: 'requests' | 'tokens';
  readonly unit: string;
  readonly windowMs: number;
  readonly limit: number;
  /** Of a rate that callers' metadata divide: at most so many windows at once. */
  readonly pool?: WindowPool | undefined;
  /** Tokens that calls without a stated maximum are assumed to make; undefined: the usual number. */
  readonly assumedOutput?: number | undefined;
  readonly onOutage: OnStoreOutage;
}

/** So many calls in flight. */
export interface SlotRule {
  readonly kind: 'slots';
  readonly id: string;
  readonly name: string;
  readonly limit: number;
  readonly onOutage: OnStoreOutage;
}

/** Budgets of one policy that are counted apart, and where further ones are counted together. */
export interface RulePool {
  readonly id: string;
  readonly most: number;
  /** As the id of a rule. */
  readonly others: string;
}

/** So much until it is reset. */
export interface BudgetRule {
  readonly kind: 'budget';
  readonly id: string;
  readonly name: string;
  readonly type: 'cost' | 'tokens' | 'requests';
  /** 1e-12 USD, tokens or requests. */
  readonly cap: bigint;
  /** Usage at which an alert is sent, in the same; undefined: none is. */
  readonly threshold?: bigint | undefined;
  readonly schedule: Schedule;
  /** Of a budget that callers' metadata divide: at most so many at once. */
  readonly pool?: RulePool | undefined;
  readonly assumedOutput?: number | undefined;
  readonly onOutage: OnStoreOutage;
}

export type Rule = RateRule | SlotRule | BudgetRule;

/** The largest amount that can be counted. */
export const MOST = 10n ** 21n;

/** Spans of the units, in milliseconds. */
export const WINDOWS: Readonly<Record<string, number>> = {
  rps: 1000,
  rpm: 60_000,
  rph: 3_600_000,
  rpd: 86_400_000,
  rpw: 604_800_000,
};

/** Rules of `rate_limits` as callers write them. @param owner e.g. `key:<id>` @param name e.g. `the API key` */
export function rateRules(
  limits: readonly JsonObject[],
  owner: string,
  name: string,
): readonly (RateRule | SlotRule)[] {
  return limits.flatMap(({ type, unit, value, on_store_outage: outage }): (RateRule | SlotRule)[] => {
    const onOutage = outageOf(outage, 'allow');
    if (unit === 'concurrent' && typeof value === 'number')
      return [slotRule(`r:${owner}:concurrent`, `the rate limit of ${name}`, value, onOutage)];
    const windowMs = WINDOWS[String(unit)];
    if (windowMs === undefined || typeof value !== 'number') return [];
    const counted = type === 'tokens' ? 'tokens' : 'requests';
    return [
      {
        kind: 'rate',
        id: `r:${owner}:${counted}:${String(unit)}`,
        name: `the rate limit of ${name}`,
        type: counted,
        unit: String(unit),
        windowMs,
        limit: value,
        onOutage,
      },
    ];
  });
}

/** A limit on calls in flight. */
export function slotRule(id: string, name: string, limit: number, onOutage: OnStoreOutage): SlotRule {
  return { kind: 'slots', id, name, limit, onOutage };
}

function outageOf(value: unknown, otherwise: OnStoreOutage): OnStoreOutage {
  return value === 'deny' || value === 'allow' || value === 'local' ? value : otherwise;
}

/**
 * The rule of a `usage_limits` object as it is kept.
 * @param since when it was reset by hand, in Unix milliseconds
 * @param place among the limits of its owner
 */
export function budgetRule(
  limit: JsonObject,
  owner: string,
  name: string,
  since: number | undefined,
  place = 0,
): BudgetRule {
  const { type, credit_limit: credit, alert_threshold: threshold } = limit;
  const counted = type === 'tokens' ? 'tokens' : 'cost';
  return {
    kind: 'budget',
    id: `u:${owner}:${counted}${place === 0 ? '' : `:${place}`}`,
    name: `the usage limit of ${name}`,
    type: counted,
    cap: capOf(counted, Number(credit)),
    threshold: typeof threshold === 'number' ? capOf(counted, threshold) : undefined,
    schedule: { ...scheduleOf(limit), since },
    onOutage: outageOf(limit.on_store_outage, 'deny'),
  };
}

/** A budget's cap in what it counts. */
export function capOf(type: BudgetRule['type'], credit: number): bigint {
  const cap = type === 'cost' ? dollarsOf(credit) : BigInt(Math.floor(credit));
  return cap > MOST ? MOST : cap;
}
