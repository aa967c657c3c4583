// Re-rating: the costs of entries worked out again after prices were corrected, with the budgets that counted them.
// Each batch is written down, its entries are corrected, then its budgets; killed anywhere and run again, it comes to
// the same.

import type { RequestRecord } from '../../call/record.ts';
import { fail } from '../../lib/errors.ts';
import {
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { SharedState } from '../../store/shared-state.ts';
import type { PriceList } from '../prices/price-list.ts';
import { correctBudgets } from './correct-budgets.ts';
import { type Correction, correctionOf } from './corrected.ts';
import {
  type BudgetDelta,
  NO_TOTALS,
  type PendingBatch,
  type ReRateBody,
  type ReRateSpan,
  type ReRateTotals,
  RUN_ID,
  reRates,
} from './run.ts';

/** What a run takes. */
export interface ReRateDeps {
  readonly log: Pick<LogStore, 'page' | 'reprice'>;
  readonly state: Pick<
    SharedState,
    'readBudget' | 'correctBudget' | 'acquireLease' | 'renewLease' | 'releaseLease'
  >;
  readonly documents: DocumentStore;
  readonly prices: PriceList;
  /**
   * Since when a budget counts its present total (Unix milliseconds); undefined: its period is over, and the total
   * is not used any more.
   */
  readonly countsSince: (organisationId: string, key: string) => Promise<number | undefined>;
  /** Writes the end of a run together with its audit entry. */
  readonly finish: (organisationId: string, run: ReRateBody, operation: WriteOperation) => Promise<unknown>;
  /** This process, as the owner of its lease. */
  readonly owner: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The result of a run. Amounts are in 1e-12 USD. */
export interface ReRateResult {
  /** Entries of the span that were read, those of the model among them, and those whose costs changed. */
  readonly read: number;
  readonly entries: number;
  readonly changed: number;
  /** The cost of the changed entries, before and after. */
  readonly before: bigint;
  readonly after: bigint;
  /** Budgets that were corrected. */
  readonly budgets: number;
}

const PAGE = 500;
/** How long the lease of a run lasts without renewal, in milliseconds. */
export const LEASE_MS = 60_000;
/** The lease that runs of an organisation take turns by. */
export const LEASE_KEY = 're-rate';

/** Called with a run's result so far, after each page of entries. */
export type OnPage = (soFar: ReRateResult) => Promise<void>;

/**
 * Re-rates a span of an organisation's entries.
 * @param dryRun reads and reports, and changes nothing
 * @throws GatewayError conflict while another run of the organisation is under way, store_unavailable
 */
export async function reRate(
  deps: ReRateDeps,
  organisationId: string,
  span: ReRateSpan,
  dryRun: boolean,
  signal?: AbortSignal,
  onPage: OnPage = async () => {},
): Promise<ReRateResult> {
  if (dryRun) return new Run(deps, organisationId, span, onPage).look(signal);
  const lease = { key: LEASE_KEY, owner: deps.owner, leaseMs: LEASE_MS };
  const { acquired } = await deps.state.acquireLease(organisationId, lease);
  if (!acquired) throw fail('conflict', 'the organisation is being re-rated already');
  try {
    const renew = async (): Promise<void> => {
      if (!(await deps.state.renewLease(organisationId, lease)))
        throw fail('conflict', 'another run has taken the organisation over');
    };
    return await new Run(deps, organisationId, span, onPage).make(renew, signal);
  } finally {
    await deps.state.releaseLease(organisationId, { key: lease.key, owner: deps.owner }).catch(() => {});
  }
}

class Run {
  readonly #deps: ReRateDeps;
  readonly #organisationId: string;
  readonly #span: ReRateSpan;
  readonly #since = new Map<string, number | undefined>();
  readonly #budgets = new Set<string>();
  readonly #onPage: OnPage;
  #read = 0;
  #entries = 0;

  constructor(deps: ReRateDeps, organisationId: string, span: ReRateSpan, onPage: OnPage) {
    this.#deps = deps;
    this.#organisationId = organisationId;
    this.#span = span;
    this.#onPage = onPage;
  }

  async look(signal: AbortSignal | undefined): Promise<ReRateResult> {
    let totals = NO_TOTALS;
    for await (const corrections of this.#corrections(signal)) {
      await this.#deltas(corrections);
      totals = added(totals, corrections);
      await this.#onPage(this.#result(totals));
    }
    return this.#result(totals);
  }

  async make(renew: () => Promise<void>, signal: AbortSignal | undefined): Promise<ReRateResult> {
    let run = await this.#begin();
    for await (const corrections of this.#corrections(signal)) {
      await renew();
      if (corrections.length === 0) {
        await this.#onPage(this.#result(run.body.totals));
        continue;
      }
      const number = run.body.number + 1;
      const pending: PendingBatch = {
        number,
        corrections: corrections.map(({ repriced }) => repriced),
        deltas: await this.#deltas(corrections),
      };
      run = await this.#write(run, { ...run.body, number, pending });
      run = await this.#carryOut(run, added(run.body.totals, corrections));
      await this.#onPage(this.#result(run.body.totals));
    }
    const { pending: _, ...body } = run.body;
    const done: ReRateBody = { ...body, state: 'done' };
    const change = { body: done, updatedAt: this.#deps.now() };
    await this.#deps.finish(
      this.#organisationId,
      done,
      updateOperation(reRates, RUN_ID, run.version, change),
    );
    return this.#result(done.totals);
  }

  /** The run's document; an unfinished earlier run is completed first. */
  async #begin(): Promise<Document<ReRateBody>> {
    const { documents, now } = this.#deps;
    const known = await documents.get(this.#scope, reRates, RUN_ID);
    const fresh: ReRateBody = {
      ...this.#span,
      state: 'running',
      startedAt: now(),
      number: known?.body.number ?? 0,
      totals: NO_TOTALS,
    };
    if (known === undefined) {
      const document = { id: RUN_ID, createdAt: now(), body: fresh };
      const [made] = await documents.commit(this.#scope, [insertOperation(reRates, document)]);
      return made as Document<ReRateBody>;
    }
    const clean = await this.#carryOut(known, known.body.totals);
    const { from, until, model } = clean.body;
    const { from: wantedFrom, until: wantedUntil, model: wantedModel } = this.#span;
    const goesOn =
      clean.body.state === 'running' && from === wantedFrom && until === wantedUntil && model === wantedModel;
    return goesOn ? clean : this.#write(clean, fresh);
  }

  /** Makes the pending corrections; repeated when only some were made. */
  async #carryOut(run: Document<ReRateBody>, totals: ReRateTotals): Promise<Document<ReRateBody>> {
    const { pending, ...body } = run.body;
    if (pending === undefined) return run;
    const { state, log } = this.#deps;
    const there = await log.reprice(this.#organisationId, pending.corrections);
    // Budgets are never corrected for entries that do not change.
    if (there > 0) await correctBudgets(state, this.#organisationId, pending);
    const after = await this.#write(run, { ...body, totals: there > 0 ? totals : body.totals });
    if (there > 0) return after;
    throw fail(
      'conflict',
      'the log has none of the entries any more that were to be corrected: run it again',
    );
  }

  #write(run: Document<ReRateBody>, body: ReRateBody): Promise<Document<ReRateBody>> {
    const change = { body, updatedAt: this.#deps.now() };
    return this.#deps.documents.update(this.#scope, reRates, RUN_ID, run.version, change);
  }

  /** Corrections, per page; empty for a page whose costs are right. */
  async *#corrections(signal: AbortSignal | undefined): AsyncGenerator<readonly Correction[]> {
    const { log, prices } = this.#deps;
    const { from, until, model } = this.#span;
    let after: string | undefined;
    do {
      signal?.throwIfAborted();
      const page = await log.page(
        this.#scope,
        { from, until },
        { page: 0, pageSize: PAGE, order: 'asc', count: false, ...(after === undefined ? {} : { after }) },
      );
      const meant = page.entries.filter((entry) => model === undefined || isOf(entry, model));
      this.#read += page.entries.length;
      this.#entries += meant.length;
      yield meant.flatMap((entry) => correctionOf(prices, entry) ?? []);
      after = page.next;
    } while (after !== undefined);
  }

  /** What budgets counted too little, per budget; budgets that do not count any more are left as they are. */
  async #deltas(corrections: readonly Correction[]): Promise<readonly BudgetDelta[]> {
    const sums = new Map<string, bigint>();
    for (const { deltas, repriced } of corrections)
      for (const [key, amount] of deltas) {
        const since = await this.#countsSince(key);
        if (since === undefined || repriced.createdAt < since || amount === 0n) continue;
        sums.set(key, (sums.get(key) ?? 0n) + amount);
        this.#budgets.add(key);
      }
    return [...sums].map(([key, amount]) => ({ key, amount: amount.toString() }));
  }

  async #countsSince(key: string): Promise<number | undefined> {
    if (!this.#since.has(key)) this.#since.set(key, await this.#deps.countsSince(this.#organisationId, key));
    return this.#since.get(key);
  }

  #result({ changed, before, after }: ReRateTotals): ReRateResult {
    return {
      read: this.#read,
      entries: this.#entries,
      changed,
      before: BigInt(before),
      after: BigInt(after),
      budgets: this.#budgets.size,
    };
  }

  get #scope() {
    return { organisationId: this.#organisationId, workspaceId: undefined };
  }
}

function added({ changed, before, after }: ReRateTotals, corrections: readonly Correction[]): ReRateTotals {
  return {
    changed: changed + corrections.length,
    before: corrections.reduce((sum, one) => sum + one.before, BigInt(before)).toString(),
    after: corrections.reduce((sum, one) => sum + one.after, BigInt(after)).toString(),
  };
}

function isOf({ attempts }: RequestRecord, model: string): boolean {
  return attempts.some((attempt) => attempt.model === model || attempt.responseModel === model);
}
