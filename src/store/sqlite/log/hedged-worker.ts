// Two workers that answer the same: the first in idle time, the second when that is not to be had.
import { toGatewayError } from '../../../lib/errors.ts';
import type { WorkerBounds, WorkerClient } from '../worker-client.ts';

/** How long to wait for idle time, in milliseconds: a machine without any for so long has all its cores busy. */
const HEDGE_MS = 1000;

/**
 * Asks the first, and the second as well when the first does not answer soon or cannot. The first answer counts.
 * @param hedgeMs after how long the second is asked
 */
export function hedgedWorker<C>(
  first: WorkerClient<C>,
  second: WorkerClient<C>,
  bounds: Pick<WorkerBounds, 'deadlineMs'>,
  hedgeMs: number = HEDGE_MS,
): WorkerClient<C> {
  return {
    call: <T>(call: C, length?: number, deadlineMs: number = bounds.deadlineMs) =>
      new Promise<T>((resolve, reject) => {
        let open = 2;
        let timer: NodeJS.Timeout | undefined;
        const failed = (error: unknown): void => {
          if (--open === 0 || isAnswer(error)) settle(() => reject(error));
          else askSecond();
        };
        const settle = (end: () => void): void => {
          clearTimeout(timer);
          timer = undefined;
          end();
        };
        const answered = (answer: T): void => settle(() => resolve(answer));
        const since = performance.now();
        const askSecond = (): void => {
          if (timer === undefined) return;
          clearTimeout(timer);
          timer = undefined;
          const left = Math.max(1, deadlineMs - (performance.now() - since));
          second.call<T>(call, length, left).then(answered, failed);
        };
        timer = setTimeout(askSecond, hedgeMs);
        first.call<T>(call, length, deadlineMs).then(answered, failed);
      }),
    close: async (lastCall) => {
      await Promise.all([first.close(lastCall), second.close(lastCall)]);
    },
  };
}

/** Whether it is what the call comes to; else another worker may do better. */
function isAnswer(error: unknown): boolean {
  return toGatewayError(error).reason !== 'store_unavailable';
}
