// One call at a time over all instances: the turn is a lease; who has it not, looks now and then whether the answer
// is there or the turn free.
import { randomUUID } from 'node:crypto';
import type { AbortLike } from '../../lib/abort.ts';
import { TURN_MS, type Turns } from './answers.ts';
import { sleep } from './within.ts';

export interface FillLockOptions<Found> {
  /** Longest wait for another instance. */
  readonly waitMs: number;
  /** The answer, if it is there. @throws GatewayError store_unavailable. */
  readonly look: () => Promise<Found | undefined>;
}

/** Between two looks, in milliseconds: the first, and the longest. */
const FIRST_PAUSE_MS = 15;
const LAST_PAUSE_MS = 200;
/** How long a turn is prolonged at the most: no answer takes that long, so its maker has forgotten it. */
const LONGEST_TURN_MS = 15 * 60_000;

/**
 * The answer, or leave to make it: because it is this call's turn, because the wait was too long, or because the
 * store does not answer. `release` gives the turn back, once.
 * @throws the signal's reason when it aborts while waiting.
 */
export async function acquireFillLock<Found>(
  turns: Turns | undefined,
  organisationId: string,
  key: string,
  signal: AbortLike,
  { waitMs, look }: FillLockOptions<Found>,
): Promise<{ readonly found: Found } | { readonly release: () => void }> {
  const owner = randomUUID();
  const giveUpAt = performance.now() + waitMs;
  let release = (): void => undefined;
  try {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LAST_PAUSE_MS)) {
      const mine = turns === undefined || (await turns.take(organisationId, key, owner));
      if (mine && turns !== undefined) release = hold(turns, organisationId, key, owner);
      // Also after taking: between the last look and now the answer may have come.
      const found = await look();
      if (found !== undefined) {
        release();
        return { found };
      }
      if (mine || performance.now() >= giveUpAt) return { release };
      await sleep(pause * (0.5 + Math.random()), signal);
    }
  } catch (error) {
    if (!signal.aborted) return { release };
    release();
    throw error;
  }
}

/** Prolongs the turn until it is released. */
function hold(turns: Turns, organisationId: string, key: string, owner: string): () => void {
  const endsAt = performance.now() + LONGEST_TURN_MS;
  const timer = setInterval(() => {
    if (performance.now() < endsAt) void turns.keep(organisationId, key, owner);
    else clearInterval(timer);
  }, TURN_MS / 3);
  timer.unref();
  let over = false;
  return () => {
    if (over) return;
    over = true;
    clearInterval(timer);
    void turns.give(organisationId, key, owner);
  };
}
