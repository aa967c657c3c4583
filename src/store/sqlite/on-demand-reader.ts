// Reads of documents: in the writer's thread while there are few of them, in a thread of their own from the first time on
// that reads wait for each other or for writes. A thread takes 10 MB, and most gateways on one machine never need it.
import type { ReaderCall, WriterCall } from './protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** From so many reads at once, or after so many that took so many milliseconds, reads have a thread of their own. */
const MANY = 16;
const SLOW = 3;
const SLOW_MS = 100;

/**
 * A reader over the writer's thread.
 * @param start starts the reader's own thread; it is called once, and again when it failed
 */
export function onDemandReader(
  writer: WorkerClient<WriterCall>,
  start: () => Promise<WorkerClient<ReaderCall>>,
): WorkerClient<ReaderCall> {
  let own: WorkerClient<ReaderCall> | undefined;
  let starting: Promise<void> | undefined;
  let closed = false;
  let waiting = 0;
  let slow = 0;

  const begin = (): void => {
    if (closed) return;
    starting ??= start().then(
      (client) => {
        own = client;
      },
      () => {
        // The writer's thread goes on reading, and the next slow read tries again.
        starting = undefined;
      },
    );
  };
  return {
    async call<T>(call: ReaderCall, length?: number, deadlineMs?: number): Promise<T> {
      if (own !== undefined) return own.call<T>(call, length, deadlineMs);
      if (++waiting >= MANY) begin();
      const since = performance.now();
      try {
        return await writer.call<T>({ kind: 'read', call }, length, deadlineMs);
      } finally {
        waiting--;
        if (performance.now() - since > SLOW_MS && ++slow >= SLOW) begin();
      }
    },
    async close(lastCall) {
      closed = true;
      await starting;
      await own?.close(lastCall);
    },
  };
}
