// Admission: every limit that applies to a call is checked and held in one step over all of them, or none; and
// settled once on what the call really used.
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import type { AttemptRecord, RequestRecord } from '../../store/request-log.ts';
import type {
  Charge,
  HoldOrder,
  Limit,
  SettleRequest,
  SharedState,
  WindowCost,
} from '../../store/shared-state.ts';
import { type Journal, journalEntry } from '../journal.ts';
import { costOf, type PriceList } from '../prices/price-list.ts';
import { costOfAttempt } from '../prices/priced.ts';
import type { Estimate } from './estimate.ts';
import { type CallFacts, noteOf } from './hold-note.ts';
import { isAway, type Later } from './later.ts';
import { Outage } from './outage.ts';
import { resetAfter } from './period.ts';
import { MOST, type RateRule, type Rule } from './rule.ts';
import { budgetKey } from './usage.ts';

/** What admission is made with. */
export interface AdmissionFacts {
  readonly state: SharedState;
  readonly prices: PriceList;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  /** How long a hold lives without being renewed, in milliseconds. */
  readonly leaseMs: number;
  /** Takes steps that the store did not take. */
  readonly later: Later;
  /** Is told where entries wait to be carried on. */
  readonly journal: Pick<Journal, 'mark'>;
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
  /** The call as it is known now, for its entry should the process end before it. */
  readonly call: CallFacts;
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
  /** It was let through while the store did not answer: nothing is owed for it. */
  readonly loose: boolean;
  readonly rates: readonly RateState[];
  readonly rules: readonly Counted[];
}

interface Counted {
  readonly rule: Rule;
  readonly limit: Limit;
}

/** What a call came to. */
export interface CallEnd {
  /** All that it called; undefined: some are still under way, and nobody knows what they use. */
  readonly attempts: readonly AttemptRecord[] | undefined;
  /** It was refused or failed. */
  readonly failed: boolean;
  /** Its entry, written in the same step as its charges. */
  readonly entry: RequestRecord | undefined;
  /** Told when the hold need not be renewed any more. */
  readonly done: () => void;
  /** Told when the entry was not written, because there was nothing to settle or the store did not take it. */
  readonly unwritten: (entry: RequestRecord) => void;
}

export class Admission {
  readonly #facts: AdmissionFacts;
  readonly #outage = new Outage();

  constructor(facts: AdmissionFacts) {
    this.#facts = facts;
  }

  /**
   * Admits a call under all rules or none.
   * @throws GatewayError rate_limited with the time to wait, budget_exhausted, or store_unavailable when budgets
   * cannot be asked; rates alone let the call through then.
   */
  async admit(order: AdmissionOrder): Promise<Ticket> {
    const { state, onTrouble } = this.#facts;
    const { id, organisationId } = order;
    const counted = order.rules.map((rule): Counted => ({ rule, limit: this.#limitOf(rule, order) }));
    const held = counted.some(({ rule }) => rule.kind === 'budget' || rule.type === 'tokens');
    const budgets = counted.some(({ rule }) => rule.kind === 'budget');
    const loose: Ticket = { id, organisationId, held, loose: true, rates: [], rules: counted };
    if (!this.#outage.mayAsk()) {
      if (budgets) throw unknown();
      return loose;
    }
    try {
      const answer = await state.admit(organisationId, {
        limits: counted.map(({ limit }) => limit),
        ...(held ? { hold: this.#holdOf(order), journal: { maxLength: MOST_ENTRIES } } : {}),
      });
      this.#outage.answered();
      const { outcome, limits } = answer;
      if (outcome === 'denied') {
        const at = limits.findIndex(({ denied }) => denied);
        throw this.#refusal(counted[at]?.rule, limits, counted, answer.retryAfterMs);
      }
      if (outcome === 'journal_full')
        throw fail('overloaded', 'the books of the organisation are full: the log store does not keep up', {
          retryAfterMs: 1000,
        });
      const rates = counted.flatMap(({ rule, limit }, i): RateState[] => {
        const remaining = limits[i]?.remaining;
        if (rule.kind !== 'rate' || limit.kind !== 'window' || remaining === undefined) return [];
        return [{ type: rule.type, limit: rule.limit, remaining: Number(remaining) }];
      });
      return { id, organisationId, held, loose: false, rates, rules: counted };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.reason !== 'store_unavailable') throw error;
      this.#outage.failed();
      if (budgets) {
        // The step may have been made all the same: a hold without a call is to be let go, not to be charged.
        this.#facts.later.add(() => state.release(organisationId, { id, refund: true }));
        throw unknown(error);
      }
      onTrouble(error, 'rates are not held: the shared store does not answer');
      return loose;
    }
  }

  /**
   * Settles a call on what it used: once, however often it is called; when the store does not answer, again until it
   * does. Attempts that reached no provider cost nothing, and a call that failed before any attempt is no request
   * of a budget. One that broke off and has not even an estimate costs what was held.
   */
  async settle(ticket: Ticket, end: CallEnd): Promise<void> {
    const { state, journal, later, onTrouble } = this.#facts;
    const { entry, done, unwritten } = end;
    const giveUp = (): void => {
      done();
      if (entry) unwritten(entry);
    };
    if (!ticket.held) return giveUp();
    const written = entry && journalEntry(entry);
    const order = { ...this.#orderOf(ticket, end), ...(written ? { entry: written } : {}) };
    const step = async (): Promise<void> => {
      const { outcome } = await state.settle(ticket.organisationId, order);
      done();
      // Settled before: by a step whose answer was lost, or by a sweeper. The log keeps one entry of an id.
      if (written && outcome === 'settled') journal.mark(ticket.organisationId);
      else if (entry) unwritten(entry);
    };
    try {
      await step();
    } catch (error) {
      // Without a place to wait the hold expires: whoever sweeps it charges what was held.
      if (ticket.loose || !isAway(error) || !later.add(step, giveUp)) giveUp();
      onTrouble(error, 'a call could not be settled yet');
    }
  }

  #holdOf(order: AdmissionOrder): HoldOrder {
    const { owner, leaseMs } = this.#facts;
    const note = noteOf(order.call, order.estimate, this.#priceOf(order));
    return { id: order.id, owner, leaseMs, ...(note === undefined ? {} : { note }) };
  }

  #orderOf(
    { id, organisationId, rules }: Ticket,
    { attempts: ended, failed, entry }: CallEnd,
  ): SettleRequest {
    // The entry's attempts have their prices: what is charged is what is written.
    const attempts = ended && (entry?.attempts ?? ended);
    if (attempts === undefined || attempts.some(isUnknown)) return { id };
    const tokens = attempts.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
    const cost = attempts.reduce(
      (sum, one) =>
        sum +
        (one.cost === undefined
          ? (costOfAttempt(this.#facts.prices, one, organisationId) ?? 0n)
          : BigInt(one.cost)),
      0n,
    );
    const requests = failed && attempts.length === 0 ? 0n : 1n;
    const charges: Charge[] = [];
    const costs: WindowCost[] = [];
    for (const { rule, limit } of rules) {
      if (rule.kind === 'rate' && rule.type === 'tokens')
        costs.push({ key: limit.key, cost: Math.min(tokens, MOST_TOKENS) });
      if (rule.kind !== 'budget') continue;
      const amount = rule.type === 'cost' ? cost : rule.type === 'tokens' ? BigInt(tokens) : requests;
      charges.push({ key: limit.key, amount: least(amount, MOST) });
    }
    return { id, charges, costs };
  }

  #limitOf(rule: Rule, order: AdmissionOrder): Limit {
    const tokens = Math.min(order.estimate.input + order.estimate.output, MOST_TOKENS);
    if (rule.kind === 'rate') {
      const cost = rule.type === 'tokens' ? tokens : 1;
      return { kind: 'window', key: rule.id, limit: rule.limit, windowMs: rule.windowMs, cost };
    }
    const amount =
      rule.type === 'cost' ? this.#worstCost(order) : rule.type === 'tokens' ? BigInt(tokens) : 1n;
    return {
      kind: 'budget',
      key: budgetKey(rule, this.#facts.now()),
      cap: rule.cap,
      amount: least(amount, MOST),
    };
  }

  /** Without a known price one unit is held, so that a spent budget stays spent. */
  #worstCost(order: AdmissionOrder): bigint {
    return this.#priceOf(order) ?? 1n;
  }

  /** What the estimate costs; undefined: nobody knows. */
  #priceOf({ organisationId, estimate, provider, model }: AdmissionOrder): bigint | undefined {
    if (model === undefined) return undefined;
    const { prices, now } = this.#facts;
    // A model may be written with the provider that it is to be had from: @provider/model.
    const own = model.startsWith('@') ? model.slice(model.indexOf('/') + 1) : model;
    const known = provider === undefined ? undefined : prices.find(provider, own, now(), organisationId);
    const price = known ?? prices.findAnywhere(own, now(), organisationId);
    const { input, output } = estimate;
    return price
      ? costOf(price, { promptTokens: input, completionTokens: output, totalTokens: input + output })
      : undefined;
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
      return fail(
        'rate_limited',
        type === 'requests'
          ? `${text} lets no call through`
          : `${text} lets no call through that may use so many: lower its max_tokens`,
      );
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

function unknown(cause?: unknown): GatewayError {
  return fail('store_unavailable', 'budgets cannot be asked: the shared store does not answer', {
    retryAfterMs: 1000,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Entries of an organisation that wait for the log store. */
const MOST_ENTRIES = 200_000;

/** More than any call uses. */
const MOST_TOKENS = 1_000_000_000;

/** Whether an attempt may have used what nobody told, and nobody estimated. */
function isUnknown({ usage, outcome }: AttemptRecord): boolean {
  return usage === undefined && (outcome === 'cancelled' || outcome === 'interrupted');
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
