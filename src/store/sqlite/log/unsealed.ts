// Entries that wait to be sealed, more than a reader takes into memory: after a start on what another process left, or an
// import that was faster than the compactor. They are sealed block by block; who asks meanwhile waits as long as it can.
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayError, toGatewayError } from '../../../lib/errors.ts';
import type { WorkerBounds, WorkerClient } from '../worker-client.ts';
import { FailureError } from '../worker-loop.ts';

/** How the failure is known again: for the gateway's log, and for `untilSealed`. */
const CAUSE = 'entries wait to be sealed';
/** Entries that are sealed in a second, about. */
const A_SECOND = 20_000;
const PAUSE_MS = 200;

/** @param entries that wait */
export function unsealed(entries: number): FailureError {
  return new FailureError({
    reason: 'store_unavailable',
    message: `the log is being put in order: ${entries} entries are left. Try again later`,
    retryAfterMs: 1000 * Math.min(60, Math.ceil(entries / A_SECOND)),
    cause: CAUSE,
  });
}

/** Asks again while entries wait to be sealed, until the call's time is over. */
export function untilSealed<C>(
  reader: WorkerClient<C>,
  { deadlineMs: usual }: Pick<WorkerBounds, 'deadlineMs'>,
): WorkerClient<C> {
  return {
    call: async <T>(call: C, length?: number, deadlineMs: number = usual) => {
      const until = performance.now() + deadlineMs;
      let waiting: GatewayError | undefined;
      for (;;) {
        const left = until - performance.now();
        try {
          return await reader.call<T>(call, length, Math.max(1, left));
        } catch (error) {
          const failure = toGatewayError(error);
          if (failure.reason !== 'store_unavailable') throw error;
          // The last time asked may be too short for any answer.
          if (failure.cause !== CAUSE) throw waiting ?? error;
          waiting = failure;
          if (left < 2 * PAUSE_MS) throw error;
        }
        await sleep(PAUSE_MS);
      }
    },
    close: (lastCall) => reader.close(lastCall),
  };
}
