// Usage of budgets by calls that were let through while the store did not answer: added up, and charged when it
// answers. A total has an id of its own, so that a charge whose answer was lost is not made twice.
import { randomUUID } from 'node:crypto';
import type { Charge, ChargedBudget, SharedState } from '../../store/shared-state.ts';
import type { Counted } from './limit-of.ts';
import type { RetryQueue } from './retry-queue.ts';

/** Totals of one organisation that go in one step. */
interface Batch {
  readonly id: string;
  readonly charges: Map<string, Charge>;
  readonly counted: Map<string, Counted>;
  sent: boolean;
}

export interface DeferredChargesDeps {
  readonly state: Pick<SharedState, 'settle'>;
  /** Makes the steps when the store answers. */
  readonly later: Pick<RetryQueue, 'add'>;
  /** Called with the totals of the charged budgets. */
  readonly charged: (
    organisationId: string,
    counted: Iterable<Counted>,
    budgets: readonly ChargedBudget[],
  ) => void;
}

/** Budgets of one step. */
const MOST = 64;

export class DeferredCharges {
  readonly #deps: DeferredChargesDeps;
  readonly #open = new Map<string, Batch>();

  constructor(deps: DeferredChargesDeps) {
    this.#deps = deps;
  }

  /** Takes a call's charges. False: too many wait already, and they are never made. */
  owe(organisationId: string, counted: readonly Counted[], charges: readonly Charge[]): boolean {
    let taken = true;
    for (const charge of charges) {
      if (charge.amount === 0n) continue;
      const batch = this.#batchFor(organisationId, charge.key);
      if (batch === undefined) {
        taken = false;
        continue;
      }
      const before = batch.charges.get(charge.key)?.amount ?? 0n;
      batch.charges.set(charge.key, { ...charge, amount: before + charge.amount });
      const own = counted.find(({ limit }) => limit.kind === 'budget' && limit.key === charge.key);
      if (own !== undefined) batch.counted.set(charge.key, own);
    }
    return taken;
  }

  #batchFor(organisationId: string, key: string): Batch | undefined {
    const open = this.#open.get(organisationId);
    if (open !== undefined && !open.sent && (open.charges.size < MOST || open.charges.has(key))) return open;
    const batch: Batch = { id: randomUUID(), charges: new Map(), counted: new Map(), sent: false };
    if (!this.#deps.later.add(() => this.#pay(organisationId, batch))) return undefined;
    this.#open.set(organisationId, batch);
    return batch;
  }

  async #pay(organisationId: string, batch: Batch): Promise<void> {
    // Its totals are fixed from here on: the step may have succeeded although its answer was lost.
    batch.sent = true;
    if (this.#open.get(organisationId) === batch) this.#open.delete(organisationId);
    const order = { id: batch.id, charges: [...batch.charges.values()], orphan: 'charge' as const };
    const { budgets } = await this.#deps.state.settle(organisationId, order);
    this.#deps.charged(organisationId, batch.counted.values(), budgets);
  }
}
