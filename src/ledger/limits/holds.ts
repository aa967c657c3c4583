// Holds while calls run, and holds whose owner is gone.
import type { SharedState } from '../../store/shared-state.ts';
import { type Journal, journalEntry } from '../journal.ts';
import { interruptedEntry } from './hold-note.ts';

/** What keeping holds takes. */
export interface HoldFacts {
  readonly state: SharedState;
  readonly owner: string;
  readonly leaseMs: number;
  /** Is told where entries wait to be carried on. */
  readonly journal: Pick<Journal, 'mark'>;
  /** Ids of all organisations. */
  readonly organisations: () => Iterable<string>;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Keeps holds. */
export interface Holds {
  /** The call's hold is renewed until the returned function is called. */
  keep(organisationId: string, id: string): () => void;
  /** Holds that this process keeps now. */
  size(): number;
  stop(): void;
}

/** Ids of one renewal, holds of one sweep. */
const BATCH = 500;

/**
 * Renews what runs, and settles what nobody renews any more as it was held: the estimate of a call that was
 * killed in flight.
 */
export function keepHolds({ state, owner, leaseMs, journal, organisations, onTrouble }: HoldFacts): Holds {
  const running = new Map<string, Set<string>>();

  const renew = async (): Promise<void> => {
    for (const [organisationId, ids] of running) {
      const all = [...ids];
      for (let i = 0; i < all.length; i += BATCH)
        await state.renew(organisationId, { ids: all.slice(i, i + BATCH), owner, leaseMs });
    }
  };
  const sweep = async (): Promise<void> => {
    for (const organisationId of organisations()) {
      const expired = await state.sweep(organisationId, { owner, leaseMs, max: BATCH });
      for (const { id, note, expiredAt } of expired) {
        const entry = interruptedEntry(organisationId, note, expiredAt);
        const written = entry && journalEntry(entry);
        await state.settle(organisationId, { id, ...(written ? { entry: written } : {}) });
        if (written) journal.mark(organisationId);
      }
    }
  };
  const every = (ms: number, what: string, work: () => Promise<void>): NodeJS.Timeout => {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      work()
        .catch((error: unknown) => onTrouble(error, what))
        .finally(() => {
          busy = false;
        });
    }, ms);
    return timer.unref();
  };
  const timers = [
    every(leaseMs / 3, 'holds could not be renewed', renew),
    every(leaseMs / 4, 'expired holds could not be swept', sweep),
  ];

  return {
    keep(organisationId, id) {
      const ids = running.get(organisationId) ?? new Set<string>();
      running.set(organisationId, ids.add(id));
      return () => {
        ids.delete(id);
        if (ids.size === 0) running.delete(organisationId);
      };
    },
    size: () => [...running.values()].reduce((sum, ids) => sum + ids.size, 0),
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
