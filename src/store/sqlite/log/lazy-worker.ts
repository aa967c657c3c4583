// A worker that starts with its first call: most gateways never call it, and it costs memory.
import { fail } from '../../../lib/errors.ts';
import { startWorker, type WorkerBounds, type WorkerClient } from '../worker-client.ts';

/** @param apart as `startWorker` says. `lastCall` of `close` is only sent to a worker that was started. */
export function lazyWorker<C>(
  entry: URL,
  setup: object,
  bounds: WorkerBounds,
  apart = false,
): WorkerClient<C> {
  let started: Promise<WorkerClient<C>> | undefined;
  let closed = false;
  const start = (): Promise<WorkerClient<C>> => {
    started ??= startWorker<C>(entry, setup, bounds, apart).catch((error: unknown) => {
      started = undefined;
      throw error;
    });
    return started;
  };
  return {
    call: async (call, length, deadlineMs) => {
      if (closed) throw fail('store_unavailable', 'the store is closed');
      return (await start()).call(call, length, deadlineMs);
    },
    close: async (lastCall) => {
      closed = true;
      const client = await started?.catch(() => undefined);
      await client?.close(lastCall);
    },
  };
}
