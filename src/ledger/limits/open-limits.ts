// Limits, put together: policies followed, holds kept, calls admitted and settled.
import { randomUUID } from 'node:crypto';
import { follow, type ReplicaSource } from '../../store/follow.ts';
import type { RequestLogStore } from '../../store/request-log.ts';
import type { SharedState } from '../../store/shared-state.ts';
import type { BudgetWatch } from '../alerts/watch.ts';
import type { InFlightJournal } from '../flight/in-flight-journal.ts';
import { Journal, type JournalStats } from '../journal.ts';
import type { PriceList } from '../prices/price-list.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { Admission } from './admission.ts';
import { Background } from './background.ts';
import type { Groups } from './groups.ts';
import { type Holds, keepHolds } from './holds.ts';
import { PolicySet } from './policy-set.ts';
import { RetryQueue } from './retry-queue.ts';
import { TargetLimits } from './target-limits.ts';

/** What limits are made with. */
export interface LimitsParts {
  /** Where they are counted: of all instances with Redis, of this one without. */
  readonly state: SharedState;
  readonly source: ReplicaSource;
  /** The groups of policies that budgets are counted in; closed with the limits. */
  readonly groups: Groups;
  /** Where entries are carried on to. */
  readonly store: Pick<RequestLogStore, 'append'>;
  readonly prices: PriceList;
  readonly counter: TokenCounter;
  /** How long a hold outlives its process, in milliseconds. */
  readonly leaseMs: number;
  /** Ids of all organisations, as this process knows them. */
  readonly organisations: () => Iterable<string>;
  readonly now: () => number;
  /** Called with changes of budgets. */
  readonly watch?: BudgetWatch | undefined;
  readonly flights?: Pick<InFlightJournal, 'releasing' | 'owner'> | undefined;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Limits of all calls. */
export interface OpenLimits {
  readonly admission: Admission;
  /** Of what calls are sent to. */
  readonly targets: TargetLimits;
  readonly holds: Holds;
  readonly policies: PolicySet;
  readonly groups: Groups;
  readonly inBackground: (work: Promise<unknown>, aside?: boolean) => void;
  /** An organisation's journal has entries to carry on. */
  readonly mark: (organisationId: string) => void;
  /** What waits in the journals. */
  readonly waiting: () => JournalStats;
  /** Resolves when calls that ended before are settled and their entries carried on, or could not be. */
  flush(): Promise<void>;
  /** Waits for settlements in progress, and stops. */
  close(): Promise<void>;
}

/** Between two retries of steps that the store did not take. */
const LATER_MS = 2000;
const LATER_MOST = 20_000;
/** How long a reader waits for settlements. */
const FLUSH_MS = 10_000;

export async function openLimits(parts: LimitsParts): Promise<OpenLimits> {
  const { state, prices, groups, leaseMs, organisations, now, onTrouble } = parts;
  const policies = new PolicySet(groups);
  const stop = await follow(parts.source, policies.replicas);
  const owner = randomUUID();
  const background = new Background();
  const journal = new Journal({ state, store: parts.store, owner, organisations, onTrouble });
  const lines = parts.flights?.owner;
  const holds = keepHolds({ state, owner, lines, leaseMs, journal, organisations, onTrouble });
  const later = new RetryQueue({ everyMs: LATER_MS, most: LATER_MOST, onTrouble });
  const admission = new Admission({
    state,
    prices,
    owner,
    leaseMs,
    later,
    journal,
    now,
    onTrouble,
    watch: parts.watch,
    flights: parts.flights,
  });
  const { counter } = parts;
  return {
    admission,
    targets: new TargetLimits({
      admission,
      holds,
      counter,
      policies,
      inBackground: background.add,
      onTrouble,
    }),
    holds,
    policies,
    groups,
    inBackground: background.add,
    mark: (organisationId) => journal.mark(organisationId),
    waiting: () => journal.stats(),
    async flush() {
      await background.soFar(FLUSH_MS);
      await journal.flush();
    },
    async close() {
      await background.idle();
      await later.turn();
      await groups.close();
      later.stop();
      await journal.close();
      holds.stop();
      stop();
    },
  };
}
