// Admission: every limit that applies to a call is checked and held in one step over all of them, or none; and
// settled once on what the call really used.

import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import { fail, type GatewayError, type RateState, toGatewayError } from '../../lib/errors.ts';
import { encodeEntry } from '../../store/log/entry-text.ts';
import type {
  BudgetLimit,
  Charge,
  ChargedBudget,
  HoldOrder,
  LimitState,
  SettleRequest,
  SharedState,
  WindowCost,
} from '../../store/shared-state.ts';
import type { BudgetWatch } from '../alerts/watch.ts';
import { chargedBudgetsOf } from '../charged-budgets.ts';
import type { InFlightJournal } from '../flight/in-flight-journal.ts';
import { type Journal, journalEntry } from '../journal.ts';
import { costOf, type PriceList } from '../prices/price-list.ts';
import { costOfAttempt } from '../prices/priced.ts';
import { DeferredCharges } from './deferred-charges.ts';
import { assuming, type Estimate } from './estimate.ts';
import { type AdmittedCall, linesNote, noteOf } from './hold-note.ts';
import { type Counted, limitOf, MOST_TOKENS, type WorstCase } from './limit-of.ts';
import { LocalLimits, type LocalTake } from './local-limits.ts';
import { Outage } from './outage.ts';
import { refusalOf, unaskable } from './refusal.ts';
import { isAway, type RetryQueue } from './retry-queue.ts';
import { MOST, type Rule } from './rule.ts';

/** What admission is made with. */
export interface AdmissionDeps {
  readonly state: SharedState;
  readonly prices: PriceList;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  /** How long a hold lives without being renewed, in milliseconds. */
  readonly leaseMs: number;
  /** Takes steps that the store did not take. */
  readonly later: RetryQueue;
  /** Is told where entries wait to be carried on. */
  readonly journal: Pick<Journal, 'mark' | 'own'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly watch?: BudgetWatch | undefined;
  /** Where a release that waits outlives the process. */
  readonly flights?: Pick<InFlightJournal, 'releasing' | 'owner'> | undefined;
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
  /** The call as it is known now, for its entry should the process end before it; undefined: another hold has it. */
  readonly call: AdmittedCall | undefined;
}

/** An admitted call. */
export interface Ticket {
  readonly id: string;
  readonly organisationId: string;
  readonly held: boolean;
  /**
   * It was let through while the store did not answer: what it uses of budgets is charged when it does. `asked`: the
   * store may have counted it all the same.
   */
  readonly loose: false | 'asked' | 'unasked';
  /** As they stand after the admission, for the answer's headers. */
  readonly rates: readonly RateState[];
  readonly rules: readonly Counted[];
  /** What it took of limits that this instance may count alone. */
  readonly local: LocalTake | undefined;
}

/** What a call came to. */
export interface CallEnd {
  /** All that it called; undefined: some attempts are still under way, and their usage is unknown. */
  readonly attempts: readonly AttemptRecord[] | undefined;
  /** It was refused or failed. */
  readonly failed: boolean;
  /** Its entry, written in the same step as its charges. */
  readonly entry: RequestRecord | undefined;
  /** Told what is about to be settled with the entry, and its text. */
  readonly noted?: ((entry: string, order: SettleRequest) => void) | undefined;
  /** Told when the hold need not be renewed any more. */
  readonly done: () => void;
  /** Called when the entry was not written, because there was nothing to settle or the store did not take it. */
  readonly unwritten: (entry: RequestRecord) => void;
}

export class Admission {
  readonly #deps: AdmissionDeps;
  readonly #outage = new Outage();
  readonly #local = new LocalLimits();
  readonly #deferred: DeferredCharges;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    const { state, later } = deps;
    this.#deferred = new DeferredCharges({ state, later, charged: (...told) => this.#tell(...told) });
  }

  /**
   * Admits a call under all rules or none. While the store does not answer, each rule says what becomes of it.
   * @throws GatewayError rate_limited with the time to wait, budget_exhausted, or store_unavailable when a rule that
   * denies then cannot be asked.
   */
  async admit(order: AdmissionOrder): Promise<Ticket> {
    const { state, now } = this.#deps;
    const { id, organisationId, rules } = order;
    const worst = this.#worstOf(order);
    const at = now();
    const counted = rules.map((rule): Counted => ({ rule, limit: limitOf(rule, worst, at) }));
    const held = rules.some((rule) => rule.kind !== 'rate' || rule.type === 'tokens');
    const ticket = { id, organisationId, held, rules: counted };
    if (!this.#outage.mayAsk()) return this.#withoutStore(ticket, undefined);
    try {
      const { outcome, limits } = await state.admit(organisationId, {
        limits: counted.map(({ limit }) => limit),
        ...(held ? { hold: this.#holdOf(order, worst, counted), journal: { maxLength: MOST_ENTRIES } } : {}),
      });
      if (this.#outage.answered()) this.#local.forget();
      const placed = counted.map((one, i) => placedIn(one, limits[i]?.countedIn));
      if (outcome === 'denied') {
        this.#tellRefused(organisationId, limits, placed);
        throw refusalOf(limits, placed, at, ratesOf(placed, limits));
      }
      if (outcome === 'journal_full')
        throw fail('overloaded', 'the books of the organisation are full: the log store does not keep up', {
          retryAfterMs: 1000,
        });
      const local = rules.some(countsAlone)
        ? this.#local.counted(organisationId, counted, limits, at)
        : undefined;
      return { ...ticket, rules: placed, loose: false, rates: ratesOf(counted, limits), local };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.reason !== 'store_unavailable') throw error;
      this.#outage.failed();
      return this.#withoutStore(ticket, error);
    }
  }

  /** @param cause why the store did not answer; undefined: it was not asked */
  #withoutStore(
    ticket: Pick<Ticket, 'id' | 'organisationId' | 'held' | 'rules'>,
    cause: GatewayError | undefined,
  ): Ticket {
    const { state, later, now, onTrouble } = this.#deps;
    const { id, organisationId, held, rules } = ticket;
    const refuse = (error: GatewayError): GatewayError => {
      // The step may have been made all the same: a hold without a call is released, not charged.
      if (!cause || !held) return error;
      const over = this.#deps.flights?.releasing(organisationId, id);
      later.add(() => state.release(organisationId, { id, refund: true }).then(over));
      return error;
    };
    const denies = rules.find(({ rule }) => rule.onOutage === 'deny');
    if (denies) throw refuse(unaskable(denies.rule, cause));
    let local: LocalTake | undefined;
    if (rules.some(({ rule }) => countsAlone(rule))) {
      const states = this.#local.ask(organisationId, rules, now());
      if (states.some(({ denied }) => denied))
        throw refuse(refusalOf(states, rules, now(), ratesOf(rules, states)));
      local = this.#local.take(organisationId, rules, now());
    }
    if (cause) onTrouble(cause, 'limits are not counted for all: the shared store does not answer');
    return { ...ticket, loose: cause ? 'asked' : 'unasked', rates: [], local };
  }

  /**
   * Settles a call on what it used: once, however often it is called; when the store does not answer, again until it
   * does. Attempts that reached no provider cost nothing, and a call that failed before any attempt is no request
   * of a budget. One that broke off and has not even an estimate costs what was held.
   */
  async settle(ticket: Ticket, end: CallEnd): Promise<void> {
    const { state, journal, later, now, onTrouble } = this.#deps;
    const { organisationId, rules, loose, local } = ticket;
    const { done, unwritten } = end;
    const order = ticket.held || local ? this.#orderOf(ticket, end) : undefined;
    if (local && order) this.#local.settle(organisationId, rules, local, order, now());
    // An entry does not wait for a store that is away.
    if (loose && end.entry) unwritten(end.entry);
    const entry = loose ? undefined : end.entry;
    const giveUp = (): void => {
      done();
      if (entry) unwritten(entry);
    };
    if (!ticket.held || order === undefined) return giveUp();
    if (loose === 'unasked') {
      done();
      if (!this.#deferred.owe(organisationId, rules, order.charges ?? []))
        onTrouble(undefined, 'what a call used of its budgets is lost: too much waits for the shared store');
      return;
    }
    const text = entry && encodeEntry(entry);
    if (text !== undefined) end.noted?.(text, order);
    const written = entry && journalEntry(entry, text);
    const step = async (): Promise<void> => {
      const at = performance.now();
      const claim = written && journal.own.claim();
      const { outcome, budgets, seq } = await state.settle(organisationId, {
        ...order,
        ...(written && { entry: claim ? { ...written, claim } : written }),
        ...(loose && { orphan: 'charge' }),
      });
      done();
      this.#tell(organisationId, rules, budgets);
      if (entry && written && outcome === 'settled') {
        if (claim && seq !== undefined)
          journal.own.add({ organisationId, seq, entry, text: written.data, at });
        else journal.mark(organisationId);
      }
      // Settled before, by a step whose answer was lost or by a sweeper: with the entry that says what was charged.
      else if (entry && !(written && outcome === 'repeated')) unwritten(entry);
    };
    // Without room in the queue the hold expires, and the sweep charges what was held.
    const makeLater = (): void => {
      if (!later.add(step, giveUp)) giveUp();
    };
    if (loose && this.#outage.isDown()) return makeLater();
    try {
      await step();
    } catch (error) {
      if (isAway(error)) makeLater();
      else giveUp();
      onTrouble(error, 'a call could not be settled yet');
    }
  }

  /**
   * Charges what was called elsewhere and is paid for: nothing was held, and no limit is asked.
   * @param entry priced; it is written in the same step as its charges
   * @returns whether it was charged: false when it was before
   * @throws GatewayError store_unavailable
   */
  async book(organisationId: string, counted: readonly Counted[], entry: RequestRecord): Promise<boolean> {
    const { state, journal } = this.#deps;
    const ticket = { id: entry.id, organisationId, rules: counted, loose: 'asked' } as const;
    const order = this.#orderOf(ticket, { attempts: entry.attempts, failed: false, entry });
    const written = journalEntry(entry);
    const settled = await state.settle(organisationId, {
      id: entry.id,
      charges: order.charges ?? [],
      orphan: 'charge',
      ...(written && { entry: written }),
    });
    if (settled.outcome === 'repeated') return false;
    this.#tell(organisationId, counted, settled.budgets);
    journal.mark(organisationId);
    return true;
  }

  #tellRefused(organisationId: string, limits: readonly LimitState[], counted: readonly Counted[]): void {
    const { watch } = this.#deps;
    if (watch === undefined) return;
    counted.forEach(({ rule, limit }, i) => {
      if (limits[i]?.denied && rule.kind === 'budget') watch.refused(organisationId, rule, limit.key);
    });
  }

  #tell(organisationId: string, counted: Iterable<Counted>, budgets: readonly ChargedBudget[]): void {
    const { watch } = this.#deps;
    if (watch === undefined || budgets.length === 0) return;
    for (const { rule, limit } of counted) {
      const own = rule.kind === 'budget' ? budgets.find(({ key }) => key === limit.key) : undefined;
      if (own && rule.kind === 'budget') watch.charged(organisationId, rule, own.key, own.spent);
    }
  }

  #holdOf({ id, call, estimate }: AdmissionOrder, worst: Worst, counted: readonly Counted[]): HoldOrder {
    const { owner, leaseMs } = this.#deps;
    const lines = this.#deps.flights?.owner;
    const note = call
      ? noteOf(call, estimate, worst.price(), chargedBudgetsOf(counted), lines)
      : linesNote(lines);
    return { id, owner, leaseMs, ...(note === undefined ? {} : { note }) };
  }

  #orderOf(
    { id, organisationId, rules, loose }: Pick<Ticket, 'id' | 'organisationId' | 'rules' | 'loose'>,
    { attempts: ended, failed, entry }: Pick<CallEnd, 'attempts' | 'failed' | 'entry'>,
  ): SettleRequest {
    // The entry's attempts have their prices: the charge equals the entry.
    const attempts = ended && (entry?.attempts ?? ended);
    if (attempts === undefined || attempts.some(isUnknown)) return loose ? asHeld(id, rules) : { id };
    const tokens = attempts.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
    const cost = attempts.reduce(
      (sum, one) =>
        sum +
        (one.cost === undefined
          ? (costOfAttempt(this.#deps.prices, one, organisationId) ?? 0n)
          : BigInt(one.cost)),
      0n,
    );
    const requests = failed && attempts.every(wasRefused) ? 0n : 1n;
    const charges: Charge[] = [];
    const costs: WindowCost[] = [];
    for (const { rule, limit } of rules) {
      if (rule.kind === 'rate' && rule.type === 'tokens')
        costs.push({ key: limit.key, cost: Math.min(tokens, MOST_TOKENS) });
      if (rule.kind !== 'budget' || limit.kind !== 'budget') continue;
      const amount = rule.type === 'cost' ? cost : rule.type === 'tokens' ? BigInt(tokens) : requests;
      charges.push({ key: limit.key, amount: least(amount, MOST), ...kept(limit) });
    }
    return { id, charges, costs };
  }

  #worstOf(order: AdmissionOrder): Worst {
    const { estimate } = order;
    const tokens = tokensOf(estimate);
    let known: { readonly price: bigint | undefined } | undefined;
    const price = (): bigint | undefined => {
      known ??= { price: this.#priceOf(order) };
      return known.price;
    };
    const under = (assumed: number): AdmissionOrder => ({ ...order, estimate: assuming(estimate, assumed) });
    return {
      price,
      tokens: (assumed) => (assumed === undefined ? tokens : tokensOf(under(assumed).estimate)),
      cost: (assumed) => (assumed === undefined ? price() : this.#priceOf(under(assumed))) ?? 1n,
    };
  }

  /** What the estimate costs; undefined: unknown. */
  #priceOf({ organisationId, estimate, provider, model }: AdmissionOrder): bigint | undefined {
    if (model === undefined) return undefined;
    const { prices, now } = this.#deps;
    // A model may be written with its provider: @provider/model.
    const own = model.startsWith('@') ? model.slice(model.indexOf('/') + 1) : model;
    const known = provider === undefined ? undefined : prices.find(provider, own, now(), organisationId);
    const price = known ?? prices.findAnywhere(own, now(), organisationId);
    const { input, output, media } = estimate;
    if (price === undefined) return undefined;
    // What is counted apart is paid in place of tokens, or they are told when the answer is there.
    const tokens = { promptTokens: input, completionTokens: output, totalTokens: input + output };
    return (media && costOf(price, { promptTokens: 0, totalTokens: 0, ...media })) ?? costOf(price, tokens);
  }
}

interface Worst extends WorstCase {
  /** Undefined: unknown. */
  readonly price: () => bigint | undefined;
}

function tokensOf({ input, output }: Estimate): number {
  return Math.min(input + output, MOST_TOKENS);
}

/** Entries of an organisation that wait for the log store. */
const MOST_ENTRIES = 200_000;

function countsAlone({ onOutage }: Rule): boolean {
  return onOutage === 'local';
}

function ratesOf(counted: readonly Counted[], limits: readonly LimitState[]): readonly RateState[] {
  return counted.flatMap(({ rule }, i): RateState[] => {
    const state = limits[i];
    // An instance that counts alone knows no more than that nothing is left.
    const remaining = state?.denied ? (state.remaining ?? 0n) : state?.remaining;
    if (rule.kind === 'budget' || remaining === undefined) return [];
    const type = rule.kind === 'slots' ? 'concurrent' : rule.type;
    return [{ type, limit: rule.limit, remaining: Number(remaining) }];
  });
}

/** What a call without a hold is charged when its usage is unknown. */
function asHeld(id: string, rules: readonly Counted[]): SettleRequest {
  const charges = rules.flatMap(({ limit }) =>
    limit.kind === 'budget' ? [{ key: limit.key, amount: limit.amount, ...kept(limit) }] : [],
  );
  return { id, charges };
}

function kept({
  keepUntil,
  pool,
}: Pick<BudgetLimit, 'keepUntil' | 'pool'>): Pick<Charge, 'keepUntil' | 'pool'> {
  return { ...(keepUntil === undefined ? {} : { keepUntil }), ...(pool === undefined ? {} : { pool }) };
}

/** A rule as the store counts it: that of all others, where its pool has no room for the group. */
function placedIn(counted: Counted, countedIn: string | undefined): Counted {
  const { rule, limit } = counted;
  if (countedIn === undefined || rule.kind !== 'budget' || limit.kind !== 'budget') return counted;
  const { pool: _, ...alone } = limit;
  const name = `${rule.name}, its groups beyond ${rule.pool?.most}`;
  return {
    rule: { ...rule, id: rule.pool?.others ?? rule.id, name, pool: undefined },
    limit: { ...alone, key: countedIn },
  };
}

/** Whether an attempt may have used something that was neither reported nor estimated. */
function isUnknown({ usage, outcome }: AttemptRecord): boolean {
  return usage === undefined && (outcome === 'cancelled' || outcome === 'interrupted');
}

/** Whether an attempt was refused by a limit of its target: its provider saw nothing of it. */
function wasRefused({ error }: AttemptRecord): boolean {
  return error !== undefined && REFUSALS.has(error.reason);
}

const REFUSALS: ReadonlySet<string> = new Set([
  'rate_limited',
  'budget_exhausted',
  'store_unavailable',
  'overloaded',
]);

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
