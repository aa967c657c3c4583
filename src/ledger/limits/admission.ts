// Admission: every limit that applies to a call is checked and held in one step over all of them, or none; and
// settled once on what the call really used.
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import type { AttemptRecord, UsageRecord } from '../../store/request-log.ts';
import type { Charge, Limit, SharedState, WindowCost } from '../../store/shared-state.ts';
import { costOf, type PriceList } from '../prices/price-list.ts';
import type { Estimate } from './estimate.ts';
import { periodOf, resetAfter } from './period.ts';
import type { BudgetRule, RateRule, Rule } from './rule.ts';

/** What admission is made with. */
export interface AdmissionFacts {
  readonly state: SharedState;
  readonly prices: PriceList;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told when calls are let through because the store does not answer, and of settlements that failed. */
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** What a call is admitted with. */
export interface AdmissionOrder {
  readonly id: string;
  readonly organisationId: string;
  readonly rules: readonly Rule[];
  readonly estimate: Estimate;
  /** The model that the worst case is priced by; undefined or unknown: money is settled and not held. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
}

/** A rate as it stands after the admission, for the answer's headers. */
export interface RateState {
  readonly type: 'requests' | 'tokens';
  readonly limit: number;
  readonly remaining: number;
}

/** An admitted call. */
export interface Ticket {
  readonly id: string;
  readonly organisationId: string;
  readonly held: boolean;
  readonly rates: readonly RateState[];
  readonly rules: readonly Counted[];
}

interface Counted {
  readonly rule: Rule;
  readonly limit: Limit;
}

/** A lease outlives a call that is renewed every 20 seconds, and not much more. */
export const LEASE_MS = 60_000;

export class Admission {
  readonly #facts: AdmissionFacts;

  constructor(facts: AdmissionFacts) {
    this.#facts = facts;
  }

  /**
   * Admits a call under all rules or none.
   * @throws GatewayError rate_limited with the time to wait, budget_exhausted, or store_unavailable when budgets
   * cannot be asked; rates alone let the call through then.
   */
  async admit(order: AdmissionOrder): Promise<Ticket> {
    const { state, owner, onTrouble } = this.#facts;
    const { id, organisationId } = order;
    const counted = order.rules.map((rule): Counted => ({ rule, limit: this.#limitOf(rule, order) }));
    const held = counted.some(({ rule }) => rule.kind === 'budget' || rule.type === 'tokens');
    try {
      const answer = await state.admit(organisationId, {
        limits: counted.map(({ limit }) => limit),
        ...(held ? { hold: { id, owner, leaseMs: LEASE_MS } } : {}),
      });
      const { outcome, limits } = answer;
      if (outcome === 'denied') {
        const at = limits.findIndex(({ denied }) => denied);
        throw this.#refusal(counted[at]?.rule, limits, counted, answer.retryAfterMs);
      }
      const rates = counted.flatMap(({ rule, limit }, i): RateState[] => {
        const remaining = limits[i]?.remaining;
        if (rule.kind !== 'rate' || limit.kind !== 'window' || remaining === undefined) return [];
        return [{ type: rule.type, limit: rule.limit, remaining: Number(remaining) }];
      });
      return { id, organisationId, held, rates, rules: counted };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const budgets = counted.some(({ rule }) => rule.kind === 'budget');
      if (error.reason !== 'store_unavailable' || budgets) throw error;
      onTrouble(error, 'rates are not held: the shared store does not answer');
      return { id, organisationId, held: false, rates: [], rules: [] };
    }
  }

  /**
   * Settles a call on what it used: once, however often it is called. Attempts that reached no provider cost
   * nothing; one that broke off without telling its usage costs what was held.
   */
  async settle(ticket: Ticket, attempts: readonly AttemptRecord[]): Promise<void> {
    if (!ticket.held) return;
    const { state, onTrouble } = this.#facts;
    const used = usageOf(attempts);
    try {
      if (used === 'unknown') {
        await state.settle(ticket.organisationId, { id: ticket.id });
        return;
      }
      const cost = used.length === 0 ? 0n : this.#costOf(attempts);
      const tokens = used.reduce((sum, usage) => sum + usage.totalTokens, 0);
      const charges: Charge[] = [];
      const costs: WindowCost[] = [];
      for (const { rule, limit } of ticket.rules) {
        if (rule.kind === 'rate' && rule.type === 'tokens') costs.push({ key: limit.key, cost: tokens });
        if (rule.kind !== 'budget') continue;
        const amount = rule.type === 'cost' ? cost : rule.type === 'tokens' ? BigInt(tokens) : 1n;
        charges.push({ key: limit.key, amount });
      }
      await state.settle(ticket.organisationId, { id: ticket.id, charges, costs });
    } catch (error) {
      // The hold stays and expires: whoever sweeps it charges what was held.
      onTrouble(error, 'a call could not be settled yet');
    }
  }

  #limitOf(rule: Rule, { estimate, provider, model }: AdmissionOrder): Limit {
    const tokens = estimate.input + estimate.output;
    if (rule.kind === 'rate') {
      const cost = rule.type === 'tokens' ? Math.min(tokens, 1_000_000_000) : 1;
      return { kind: 'window', key: rule.id, limit: rule.limit, windowMs: rule.windowMs, cost };
    }
    const { prices } = this.#facts;
    const known = provider !== undefined && model !== undefined && prices.find(provider, model);
    const price = known || (model === undefined ? undefined : prices.findAnywhere(model));
    const worst = { promptTokens: estimate.input, completionTokens: estimate.output, totalTokens: tokens };
    const amount =
      rule.type === 'cost'
        ? price
          ? costOf(price, worst)
          : 0n
        : rule.type === 'tokens'
          ? BigInt(tokens)
          : 1n;
    return { kind: 'budget', key: this.keyOf(rule), cap: rule.cap, amount };
  }

  /** Where a budget is counted now. */
  keyOf(rule: BudgetRule): string {
    return `${rule.id}:${periodOf(rule.schedule, this.#facts.now())}`;
  }

  #costOf(attempts: readonly AttemptRecord[]): bigint {
    return attempts.reduce((sum, { provider, model, usage }) => {
      const price = usage && this.#facts.prices.find(provider, model);
      return price ? sum + costOf(price, usage) : sum;
    }, 0n);
  }

  #refusal(
    rule: Rule | undefined,
    limits: readonly { readonly denied: boolean }[],
    counted: readonly Counted[],
    retryAfterMs: number | undefined,
  ): GatewayError {
    // A budget that is spent is told before a rate that passes by itself.
    const budget = counted.find(({ rule: own }, i) => limits[i]?.denied && own.kind === 'budget')?.rule;
    if (budget?.kind === 'budget') {
      const reset = resetAfter(budget.schedule, this.#facts.now());
      const until = reset === undefined ? '' : `, until ${new Date(reset).toISOString()}`;
      return fail('budget_exhausted', `${budget.name} (${budget.type}) is exhausted${until}`);
    }
    const { name, limit, type, unit } = rule as RateRule;
    const text = `${name} of ${limit} ${type} ${SPANS[unit] ?? unit}`;
    if (retryAfterMs === undefined)
      return fail('rate_limited', `${text} lets no call through that may use so many: lower its max_tokens`);
    return fail('rate_limited', `${text} is reached`, { retryAfterMs });
  }
}

const SPANS: Readonly<Record<string, string>> = {
  rps: 'per second',
  rpm: 'per minute',
  rph: 'per hour',
  rpd: 'per day',
  rpw: 'per week',
};

/** The usage of all attempts; `unknown` when one may have used what it did not tell. */
function usageOf(attempts: readonly AttemptRecord[]): readonly UsageRecord[] | 'unknown' {
  const told: UsageRecord[] = [];
  for (const { usage, outcome, statusCode } of attempts) {
    if (usage !== undefined) told.push(usage);
    else if (outcome !== 'error' || (statusCode >= 200 && statusCode <= 299)) return 'unknown';
  }
  return told;
}
