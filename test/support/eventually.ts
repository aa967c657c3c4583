// Waiting for a condition. The bound is only there to end a wait for what never comes, and is far beyond what a busy
// machine takes.
import { setTimeout as sleep } from 'node:timers/promises';

const BOUND_MS = 60_000;
const LOOK_MS = 10;

/**
 * Resolves with what `look` finds, as soon as it is neither undefined nor false.
 * @param what it waits for, in words
 * @throws Error after a minute
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  everyMs = LOOK_MS,
): Promise<T> {
  const end = performance.now() + BOUND_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() >= end) throw new Error(`${what}: not within ${BOUND_MS / 1000} seconds`);
    await sleep(everyMs);
  }
}
