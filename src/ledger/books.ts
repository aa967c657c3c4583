// The books of a call: its attempts completed when all have ended, its entry priced and taken.

import type { Call } from '../call/call.ts';
import type { RequestRecord } from '../call/record.ts';
import { encodeEntry } from '../store/log/entry-text.ts';
import type { BodyLog } from './bodies.ts';
import { chargedBudgets } from './charged-budgets.ts';
import type { InFlightJournal } from './flight/in-flight-journal.ts';
import type { PriceList } from './prices/price-list.ts';
import { noteSaved, pricedEntry } from './prices/priced.ts';
import type { RequestLog } from './request-log.ts';
import type { TokenCounter } from './tokens/counter.ts';
import { estimateUsage } from './tokens/estimate-usage.ts';

/** What the books are kept with. */
export interface BooksDeps {
  readonly prices: PriceList;
  readonly counter: TokenCounter;
  readonly log: Pick<RequestLog, 'record' | 'flush'>;
  /** Told of each entry once, priced, before it is written. Must not throw. */
  readonly onEntry?: ((entry: RequestRecord, call: Call) => void) | undefined;
  /** Days that a workspace's entries are kept when they are fewer than others'. */
  readonly keepDays?: (workspaceId: string) => number | undefined;
  /** False: entries carry none of their requests' metadata. */
  readonly keepsMetadata?: boolean;
  /** Where bodies go; undefined: none are kept. */
  readonly bodies?: Pick<BodyLog, 'take' | 'flush'> | undefined;
  /** Where entries are safe before the log has stored them; undefined: a kill loses what is buffered. */
  readonly flights?: Pick<InFlightJournal, 'ended' | 'turn' | 'over'> | undefined;
}

/** How long the end of attempts is awaited after the answer. */
const ATTEMPTS_MS = 5000;
/** How long a reader waits for entries whose attempts are still ending. */
const COMPLETE_MS = 10_000;
/** How long a claimed entry is awaited after the end of its call. */
const CLAIM_MS = 10_000;

export class Books {
  readonly #deps: BooksDeps;
  readonly #coming = new Set<Promise<void>>();
  /** Of calls whose clients have left while their attempts go on: readers do not wait for them. */
  readonly #draining = new Set<Promise<void>>();

  constructor(deps: BooksDeps) {
    this.#deps = deps;
  }

  /** Undefined when the call's attempts are complete; else resolves when they are: ended, with usage or an estimate. */
  readonly complete = (call: Call): Promise<void> | undefined => {
    if (call.account.completing !== undefined) return call.account.completing;
    const over = call.attemptsOver(ATTEMPTS_MS);
    if (over === undefined && call.record.unreported.length === 0) return undefined;
    const completing = (over ?? Promise.resolve()).then(() => this.#estimate(call));
    call.account.completing = completing;
    return completing;
  };

  /**
   * The call's entry, priced, for who writes it together with the call's charges; instead of being taken by the log.
   * Undefined: it did not come in time, and the log takes it.
   */
  claim(call: Call): Promise<RequestRecord | undefined> {
    if (call.account.taken) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        call.account.claim = undefined;
        resolve(undefined);
      }, CLAIM_MS + call.patienceMs).unref();
      const claim = (entry: RequestRecord): void => {
        clearTimeout(late);
        resolve(entry);
      };
      call.account.claim = claim;
    });
  }

  /** An entry that was claimed and is not written: the log takes it. */
  readonly keep = (entry: RequestRecord, call: Call): void => {
    void this.#log(entry, call);
  };

  /**
   * Takes a call's entry, or one that is complete soon. Never throws. The answer may end when the promise resolves, at
   * the end of the turn of the event loop; it never rejects.
   */
  readonly record = (
    entry: RequestRecord | Promise<RequestRecord>,
    call: Call,
  ): Promise<void> | undefined => {
    if (!(entry instanceof Promise)) return this.#take(entry, call);
    const waiting = call.patienceMs > 0 ? this.#draining : this.#coming;
    const coming: Promise<void> = entry.then(
      (complete) => {
        waiting.delete(coming);
        void this.#take(complete, call);
      },
      () => {
        waiting.delete(coming);
        this.#deps.flights?.over(call);
      },
    );
    waiting.add(coming);
    return undefined;
  };

  /** An entry that no call of this process made, with its costs, ready to be written. */
  priced(entry: RequestRecord): RequestRecord {
    const { prices, keepDays, keepsMetadata } = this.#deps;
    const priced = pricedEntry(prices, entry);
    const days = keepDays?.(entry.workspaceId);
    if (days !== undefined) (priced as { keepDays?: number }).keepDays = days;
    if (keepsMetadata === false) (priced as { metadata: object }).metadata = {};
    return priced;
  }

  /** Such an entry was written. Must be told once. */
  told(entry: RequestRecord, call: Call): void {
    this.#deps.onEntry?.(entry, call);
  }

  /** Resolves when the entries of calls that were read to their end are taken, or after ten seconds: for a stop. */
  drained(): Promise<void> {
    return within(COMPLETE_MS, this.#draining);
  }

  /** Resolves when every entry so far is durable or was reported lost. @throws GatewayError store_unavailable. */
  async flush(): Promise<void> {
    await within(COMPLETE_MS, this.#coming);
    await this.#deps.log.flush();
    await this.#deps.bodies?.flush();
  }

  #take(entry: RequestRecord, call: Call): Promise<void> | undefined {
    const priced = this.priced(entry);
    const budgets = call.account.held && chargedBudgets(call.account.held);
    if (budgets !== undefined) (entry as { budgets?: readonly string[] }).budgets = budgets;
    if (call.record.saved !== undefined) noteSaved(this.#deps.prices, entry, call.record.saved);
    if (call.bodies !== undefined && this.#deps.bodies?.take(entry, call.bodies, call.headers.raw))
      (entry as { bodies?: true }).bodies = true;
    this.#deps.onEntry?.(priced, call);
    const { claim } = call.account;
    call.account.claim = undefined;
    call.account.taken = true;
    if (claim === undefined) return this.#log(priced, call);
    claim(priced);
    // Its settlement is noted before the turn ends.
    return this.#deps.flights?.turn();
  }

  #log(entry: RequestRecord, call: Call): Promise<void> | undefined {
    const { log, flights } = this.#deps;
    if (flights === undefined) {
      log.record(entry);
      return undefined;
    }
    // Noted and stored as the same text.
    const text = encodeEntry(entry);
    return flights.ended(call, text, log.record(entry, text));
  }

  async #estimate({ record: callRecord }: Call): Promise<void> {
    const { attempts } = callRecord;
    for (const exchange of callRecord.unreported.splice(0)) {
      const usage = await estimateUsage(this.#deps.counter, exchange);
      const at = attempts.findIndex(({ id }) => id === exchange.attemptId);
      const attempt = attempts[at];
      if (attempt === undefined) continue;
      attempts[at] = { ...attempt, usage, usageEstimated: true };
      // The last attempt is the one that answered, or was to.
      if (callRecord.usage !== undefined || at < attempts.length - 1) continue;
      callRecord.usage = usage;
      callRecord.usageEstimated = true;
    }
  }
}

async function within(ms: number, waiting: ReadonlySet<Promise<void>>): Promise<void> {
  if (waiting.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all([...waiting]), late]);
  clearTimeout(timer);
}
