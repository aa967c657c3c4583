// Limits, put together: policies followed, holds kept, calls admitted and settled.
import { randomUUID } from 'node:crypto';
import { type FollowFacts, follow } from '../../store/follow.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { ledgerCollections } from '../policies.ts';
import { openPriceList } from '../prices/price-list.ts';
import { Admission } from './admission.ts';
import { Background } from './background.ts';
import { type Holds, keepHolds } from './holds.ts';
import { PolicySet } from './policy-set.ts';

/** What limits are made with. */
export interface LimitsParts {
  /** Where they are counted: of all instances with Redis, of this one without. */
  readonly state: SharedState;
  readonly follow: Omit<FollowFacts, 'collections' | 'apply'>;
  /** Ids of all organisations, as this process knows them. */
  readonly organisations: () => Iterable<string>;
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Limits of all calls. */
export interface OpenLimits {
  readonly admission: Admission;
  readonly holds: Holds;
  readonly policies: PolicySet;
  readonly behind: (work: Promise<unknown>) => void;
  /** Waits for settlements on their way, and stops. */
  close(): Promise<void>;
}

export async function openLimits(parts: LimitsParts): Promise<OpenLimits> {
  const { state, organisations, now, onTrouble } = parts;
  const policies = new PolicySet();
  const stop = await follow({
    ...parts.follow,
    collections: ledgerCollections,
    apply: (collection, document) => policies.apply(collection.name, document),
  });
  const owner = randomUUID();
  const background = new Background();
  const holds = keepHolds({ state, owner, organisations, onTrouble });
  return {
    admission: new Admission({ state, prices: openPriceList(), owner, now, onTrouble }),
    holds,
    policies,
    behind: background.add,
    async close() {
      await background.idle();
      holds.stop();
      stop();
    },
  };
}
