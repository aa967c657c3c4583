// The books of a call: its attempts completed when all have ended, its entry priced and taken.
import type { AttemptRecord, RequestRecord, UsageRecord } from '../store/request-log.ts';
import type { PriceList } from './prices/price-list.ts';
import { pricedEntry } from './prices/priced.ts';
import type { RequestLog } from './request-log.ts';
import type { TokenCounter } from './tokens/counter.ts';
import { type Exchange, estimateUsage } from './tokens/estimate-usage.ts';

/** A call as the books see it. */
export interface Accounted {
  /** Undefined when no attempt is under way; else resolves when none is, or after `ms`. */
  attemptsOver(ms: number): Promise<void> | undefined;
  readonly account: Account;
  readonly trail: {
    usage: UsageRecord | undefined;
    usageEstimated: boolean;
    readonly attempts: AttemptRecord[];
    readonly unreported: (Exchange & { readonly attemptId: string })[];
  };
}

/** Where a call stands with its books. On the call itself: a map of calls would be work for every collection of garbage. */
export interface Account {
  taken: boolean;
  completing: Promise<void> | undefined;
  claim: ((entry: RequestRecord) => void) | undefined;
}

/** What the books are kept with. */
export interface BooksFacts {
  readonly prices: PriceList;
  readonly counter: TokenCounter;
  readonly log: Pick<RequestLog, 'record' | 'flush'>;
}

/** How long the end of attempts is waited for behind the answer. */
const ATTEMPTS_MS = 5000;
/** How long a reader waits for entries whose attempts are still ending. */
const COMPLETE_MS = 10_000;
/** How long a claimed entry is waited for behind the end of its call. */
const CLAIM_MS = 10_000;

export class Books {
  readonly #facts: BooksFacts;
  readonly #coming = new Set<Promise<void>>();

  constructor(facts: BooksFacts) {
    this.#facts = facts;
  }

  /** Undefined when the call's attempts are complete; else resolves when they are: ended, with usage or an estimate. */
  readonly complete = (call: Accounted): Promise<void> | undefined => {
    if (call.account.completing !== undefined) return call.account.completing;
    const over = call.attemptsOver(ATTEMPTS_MS);
    if (over === undefined && call.trail.unreported.length === 0) return undefined;
    const completing = (over ?? Promise.resolve()).then(() => this.#estimate(call));
    call.account.completing = completing;
    return completing;
  };

  /**
   * The call's entry, priced, for who writes it together with the call's charges; instead of being taken by the log.
   * Undefined: it did not come in time, and the log takes it.
   */
  claim(call: Accounted): Promise<RequestRecord | undefined> {
    if (call.account.taken) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        call.account.claim = undefined;
        resolve(undefined);
      }, CLAIM_MS).unref();
      call.account.claim = (entry) => {
        clearTimeout(late);
        resolve(entry);
      };
    });
  }

  /** An entry that was claimed and is not written: the log takes it. */
  readonly keep = (entry: RequestRecord): void => this.#facts.log.record(entry);

  /** Takes a call's entry, or one that is complete soon. Never throws, never waits. */
  readonly record = (entry: RequestRecord | Promise<RequestRecord>, call: Accounted): void => {
    if (!(entry instanceof Promise)) {
      this.#take(entry, call);
      return;
    }
    const coming: Promise<void> = entry.then(
      (complete) => {
        this.#coming.delete(coming);
        this.#take(complete, call);
      },
      () => {
        this.#coming.delete(coming);
      },
    );
    this.#coming.add(coming);
  };

  /** Resolves when every entry so far is durable or was reported lost. @throws GatewayError store_unavailable. */
  async flush(): Promise<void> {
    if (this.#coming.size > 0) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, COMPLETE_MS);
      });
      await Promise.race([Promise.all([...this.#coming]), late]);
      clearTimeout(timer);
    }
    await this.#facts.log.flush();
  }

  #take(entry: RequestRecord, call: Accounted): void {
    const priced = pricedEntry(this.#facts.prices, entry);
    const { claim } = call.account;
    call.account.claim = undefined;
    call.account.taken = true;
    if (claim) claim(priced);
    else this.#facts.log.record(priced);
  }

  async #estimate({ trail }: Accounted): Promise<void> {
    const { attempts } = trail;
    for (const exchange of trail.unreported.splice(0)) {
      const usage = await estimateUsage(this.#facts.counter, exchange);
      const at = attempts.findIndex(({ id }) => id === exchange.attemptId);
      const attempt = attempts[at];
      if (attempt === undefined) continue;
      attempts[at] = { ...attempt, usage, usageEstimated: true };
      // The last attempt is the one that answered, or was to.
      if (trail.usage !== undefined || at < attempts.length - 1) continue;
      trail.usage = usage;
      trail.usageEstimated = true;
    }
  }
}
