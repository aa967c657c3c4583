// Every call of the store goes through here: it has a deadline, a place among a bounded number, and errors of
// the port's kinds. The driver's own time limits end what remains of a call whose caller has left.
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../lib/errors.ts';
import { failureOf, isWriteConflict } from './failures.ts';

/** The time that one call has. */
export interface Deadline {
  /** Milliseconds, 1 at least: what a time limit of the server takes. */
  remaining(): number;
  /** Waits before another try, longer with each and never as long as another caller; false when no time is left. */
  backOff(attempt: number): Promise<boolean>;
}

export interface Calls {
  /** Settles within the deadline, in milliseconds; rejects with a GatewayError only. */
  run<T>(work: (deadline: Deadline) => Promise<T>, deadlineMs?: number): Promise<T>;
  /** Refuses new calls; resolves when those under way are settled. */
  close(): Promise<void>;
}

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/** @param maxPending calls under way at once; further ones are refused, so that a slow store costs no memory. */
export function createCalls(deadlineMs: number, maxPending: number): Calls {
  const pending = new Set<Promise<unknown>>();
  let closed = false;

  async function settle<T>(work: (deadline: Deadline) => Promise<T>, ms: number): Promise<T> {
    const deadline = deadlineIn(ms);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = fail('store_unavailable', `the store did not answer within ${ms} ms`);
      timer = setTimeout(() => reject(error), ms);
    });
    try {
      return await Promise.race([retrying(work, deadline), late]);
    } catch (error) {
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    run: async (work, ms = deadlineMs) => {
      if (closed) throw fail('store_unavailable', 'the store is closed');
      if (pending.size >= maxPending) throw fail('store_unavailable', 'too many calls wait for the store');
      const call = settle(work, ms);
      pending.add(call);
      try {
        return await call;
      } finally {
        pending.delete(call);
      }
    },
    close: async () => {
      closed = true;
      await Promise.allSettled(pending);
    },
  };
}

/** The server itself repeats a write that lost a race against a transaction; not every server of its protocol does. */
async function retrying<T>(work: (deadline: Deadline) => Promise<T>, deadline: Deadline): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(deadline);
    } catch (error) {
      if (!isWriteConflict(error) || !(await deadline.backOff(attempt))) throw error;
    }
  }
}

function deadlineIn(ms: number): Deadline {
  const until = performance.now() + ms;
  const remaining = (): number => Math.max(1, Math.floor(until - performance.now()));
  return {
    remaining,
    backOff: async (attempt) => {
      const pause = Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** attempt);
      if (pause >= remaining()) return false;
      await sleep(pause);
      return true;
    },
  };
}
