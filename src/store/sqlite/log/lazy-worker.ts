// A worker that starts with its first call: most gateways never call it, and it costs memory. One that rests for a while ends,
// and starts again with the next call.
import { fail } from '../../../lib/errors.ts';
import { startWorker, type WorkerBounds, type WorkerClient } from '../worker-client.ts';

/** How a lazy worker starts and ends. */
export interface LazyOptions<C> {
  /** As `startWorker` says. */
  readonly apart?: boolean;
  /** Milliseconds after a call in which it waits for further ones, and the call that ends it; absent: it stays. */
  readonly rest?: { readonly ms: (call: C) => number; readonly lastCall: C } | undefined;
}

/** `lastCall` of `close` is only sent to a worker that was started. */
export function lazyWorker<C>(
  entry: URL,
  setup: object,
  bounds: WorkerBounds,
  { apart = false, rest }: LazyOptions<C> = {},
): WorkerClient<C> {
  let started: Promise<WorkerClient<C>> | undefined;
  /** The worker before, which has its files until it has ended. */
  let ending: Promise<void> | undefined;
  let closed = false;
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;
  /** By the monotonic clock. */
  let restsUntil = 0;

  const start = (): Promise<WorkerClient<C>> => {
    started ??= Promise.resolve(ending)
      .then(() => startWorker<C>(entry, setup, bounds, apart))
      .catch((error: unknown) => {
        started = undefined;
        throw error;
      });
    return started;
  };
  const end = (): void => {
    const [last, lastCall] = [started, rest?.lastCall];
    if (closed || calls > 0 || last === undefined || lastCall === undefined) return;
    started = undefined;
    ending = last.then((client) => client.close(lastCall)).catch(() => undefined);
  };
  const rested = (call: C): void => {
    if (rest === undefined || closed) return;
    const now = performance.now();
    restsUntil = Math.max(restsUntil, now + rest.ms(call));
    clearTimeout(timer);
    timer = setTimeout(end, restsUntil - now).unref();
  };
  return {
    call: async (call, length, deadlineMs) => {
      if (closed) throw fail('store_unavailable', 'the store is closed');
      calls++;
      try {
        return await (await start()).call(call, length, deadlineMs);
      } finally {
        calls--;
        rested(call);
      }
    },
    close: async (lastCall) => {
      closed = true;
      clearTimeout(timer);
      await ending;
      const client = await started?.catch(() => undefined);
      await client?.close(lastCall);
    },
  };
}
