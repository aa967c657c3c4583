// Limits of a call's target: a stored provider's limits, and the limits of its integration for the workspace. They are
// held for each attempt by itself, in one step over all of them, and settled on what the attempt used.

import type { AttemptRecord } from '../../call/record.ts';
import { type RateState, toGatewayError } from '../../lib/errors.ts';
import { chargedBudgetsOf } from '../charged-budgets.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { type Exchange, estimateUsage } from '../tokens/estimate-usage.ts';
import type { Admission, Ticket } from './admission.ts';
import type { Estimate } from './estimate.ts';
import type { Holds } from './holds.ts';
import type { PolicySet } from './policy-set.ts';
import { type Carrier, countsReads, rulesOfAll } from './rules-of.ts';
import type { Subject } from './subject.ts';

/** What target limits are kept with. */
export interface TargetLimitDeps {
  readonly admission: Pick<Admission, 'admit' | 'settle'>;
  readonly holds: Pick<Holds, 'keep'>;
  readonly counter: TokenCounter;
  readonly policies: Pick<PolicySet, 'rulesFor'>;
  /** Is told of work that goes on after the answer. */
  readonly inBackground: (work: Promise<unknown>) => void;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** An attempt about to be made. */
export interface AttemptOrder {
  /** The attempt's. */
  readonly id: string;
  readonly organisationId: string;
  /** The same list for the same target, until its limits change. */
  readonly carriers: readonly Carrier[];
  /** Whose attempt it is, where the organisation has policies that name the provider. */
  readonly subject?: Subject | undefined;
  /** Reading makes no tokens: neither budgets nor rates of tokens are asked. */
  readonly reads: boolean;
  readonly estimate: Estimate;
  readonly model: string;
  readonly provider: string;
}

/** What is held for an attempt. */
export interface AttemptHold {
  readonly rates: readonly RateState[];
  /** Keys of the money budgets that it is charged to; undefined: none. */
  readonly budgets: readonly string[] | undefined;
  /** Settles it, after the attempt. @param exchange the source of an estimate when the provider reported no usage */
  ended(attempt: AttemptRecord, exchange: Exchange | undefined): void;
}

export class TargetLimits {
  readonly #deps: TargetLimitDeps;

  constructor(deps: TargetLimitDeps) {
    this.#deps = deps;
  }

  /**
   * Holds what the attempt may use at the most. Undefined: nothing that applies to it.
   * @throws GatewayError rate_limited, budget_exhausted, store_unavailable
   */
  async hold(order: AttemptOrder): Promise<AttemptHold | undefined> {
    const { admission, holds } = this.#deps;
    const { carriers, reads, subject, ...own } = order;
    const carried = rulesOfAll(carriers);
    const matched = subject === undefined ? [] : this.#deps.policies.rulesFor(subject);
    const all = matched.length === 0 ? carried : [...carried, ...matched];
    const rules = reads ? all.filter(countsReads) : all;
    if (rules.length === 0) return undefined;
    // The call's own hold or its flight tells of it, should the process end before it.
    const ticket = await admission.admit({ ...own, rules, call: undefined });
    const done = ticket.held ? holds.keep(order.organisationId, order.id) : () => {};
    return {
      rates: ticket.rates,
      budgets: chargedBudgetsOf(ticket.rules),
      ended: (attempt, exchange) => {
        if (ticket.held || ticket.local)
          this.#deps.inBackground(this.#settle(ticket, attempt, exchange, done));
      },
    };
  }

  async #settle(
    ticket: Ticket,
    attempt: AttemptRecord,
    exchange: Exchange | undefined,
    done: () => void,
  ): Promise<void> {
    const { admission, counter, onTrouble } = this.#deps;
    let usage = attempt.usage;
    if (usage === undefined && exchange !== undefined) {
      usage = await estimateUsage(counter, exchange).catch((error: unknown) => {
        onTrouble(toGatewayError(error), 'the usage of an attempt could not be estimated');
        return undefined;
      });
    }
    await admission.settle(ticket, {
      attempts: [usage === undefined ? attempt : { ...attempt, usage }],
      failed: attempt.outcome === 'error',
      entry: undefined,
      done,
      unwritten: () => {},
    });
  }
}
