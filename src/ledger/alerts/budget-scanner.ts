// Scans all budgets periodically: a process may be killed between charging a budget and noticing the crossing, and the
// sweep of expired holds charges what a killed call held.
import type { SharedState } from '../../store/shared-state.ts';
import type { BudgetRule } from '../limits/rule.ts';
import { budgetKey } from '../limits/usage.ts';
import type { BudgetWatch } from './watch.ts';

export interface BudgetScannerDeps {
  readonly state: Pick<SharedState, 'readBudget' | 'acquireLease'>;
  readonly watch: Pick<BudgetWatch, 'charged'>;
  readonly organisations: () => Iterable<string>;
  readonly budgetsOf: (organisationId: string) => AsyncIterable<BudgetRule>;
  /** This process, as the owner of its leases. */
  readonly owner: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
  /** Between two scans, in milliseconds; five minutes by default. */
  readonly everyMs?: number;
}

const EVERY_MS = 300_000;
/** After the start. */
const FIRST_MS = 2000;

/** Scans until it is stopped: one instance at a time per organisation. */
export class BudgetScanner {
  readonly #deps: BudgetScannerDeps;
  readonly #timers: NodeJS.Timeout[];
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: BudgetScannerDeps) {
    this.#deps = deps;
    const everyMs = deps.everyMs ?? EVERY_MS;
    const look = (): void => void this.look();
    this.#timers = [
      setTimeout(look, Math.min(FIRST_MS, everyMs)).unref(),
      setInterval(look, everyMs).unref(),
    ];
  }

  /** Scans all budgets unless another instance is scanning them. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#all().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#looking;
  }

  async #all(): Promise<void> {
    const { state, organisations, owner, onTrouble, everyMs = EVERY_MS } = this.#deps;
    // A little shorter than the interval: the lease has expired when the next scan is due.
    const lease = { key: 'alerts-patrol', owner, leaseMs: Math.ceil(everyMs * 0.9) };
    try {
      for (const organisationId of organisations()) {
        if (this.#stopped) return;
        const { acquired } = await state.acquireLease(organisationId, lease);
        if (acquired) await this.#one(organisationId);
      }
    } catch (error) {
      onTrouble(error, 'budgets could not be looked at for alerts yet');
    }
  }

  async #one(organisationId: string): Promise<void> {
    const { state, watch, budgetsOf, now } = this.#deps;
    for await (const rule of budgetsOf(organisationId)) {
      if (this.#stopped) return;
      const key = budgetKey(rule, now());
      const { spent } = await state.readBudget(organisationId, { key });
      if (spent > 0n) watch.charged(organisationId, rule, key, spent);
    }
  }
}
