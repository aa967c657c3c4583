// Holds of running calls, and holds whose owner is gone.
import type { SharedState } from '../../store/shared-state.ts';
import { readReplayed } from '../flight/replayed.ts';
import { type Journal, journalEntry } from '../journal.ts';
import { interruptedEntry, linesOf } from './hold-note.ts';

/** What keeping holds takes. */
export interface HoldDeps {
  readonly state: SharedState;
  readonly owner: string;
  /** The owner of the lines it writes for calls in flight; undefined: it writes none. */
  readonly lines?: string | undefined;
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

/** How many leases to wait for the lines of a gone process before its calls are charged without them. */
const WAITS = 2;
/** Holds whose waiting is counted. */
const COUNTED = 100_000;

/**
 * Renews the holds of running calls, and settles expired ones as they were held: the estimate of a call that was
 * killed in flight. A hold of a process whose lines are all in the books, and that they do not settle, never
 * reached a provider: it is released.
 */
export function keepHolds(deps: HoldDeps): Holds {
  const { state, owner, lines: own, leaseMs, journal, organisations, onTrouble } = deps;
  const waited = new Map<string, number>();
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
      if (expired.length === 0) continue;
      const replayed = await readReplayed(state);
      for (const { id, note, expiredAt, budgets } of expired) {
        const lines = linesOf(note);
        if (lines !== undefined && replayed.has(lines)) {
          await state.release(organisationId, { id, refund: true });
          waited.delete(id);
          continue;
        }
        // Its lines may still be found: the sweep has prolonged the hold.
        if (lines !== undefined && lines !== own && waitsOn(waited, id)) continue;
        const entry = interruptedEntry(organisationId, note, expiredAt, budgets);
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

/** Counts one more lease; false: the wait is over. */
function waitsOn(waited: Map<string, number>, id: string): boolean {
  const leases = waited.get(id) ?? 0;
  if (leases >= WAITS || waited.size >= COUNTED) {
    waited.delete(id);
    return false;
  }
  waited.set(id, leases + 1);
  return true;
}
