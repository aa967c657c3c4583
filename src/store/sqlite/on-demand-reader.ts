// Reads of documents: in the writer's thread while there are few of them, in a thread of their own from the first time on
// that reads wait for each other or for writes. A thread takes 10 MB, and most gateways on one machine never need it.
import type { ReaderCall, WriterCall } from './protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** From so many reads at once, or one that waits for so many milliseconds, reads have a thread of their own. */
const MANY = 16;
const SLOW_MS = 300;

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
  const ready = (): WorkerClient<ReaderCall> | undefined => own;
  return {
    async call<T>(call: ReaderCall, length?: number, deadlineMs?: number): Promise<T> {
      if (own !== undefined) return own.call<T>(call, length, deadlineMs);
      if (++waiting >= MANY) begin();
      const asked = writer.call<T>({ kind: 'read', call }, length, deadlineMs);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(resolve, SLOW_MS, 'late');
      });
      try {
        const first = await Promise.race([asked.then((value) => ({ value })), late]);
        if (first !== 'late') return first.value;
        // The writer may wait for somebody else's lock, which reads need not.
        begin();
        await starting;
        const reader = ready();
        if (reader === undefined) return await asked;
        asked.catch(() => {});
        return await reader.call<T>(call, length, deadlineMs);
      } finally {
        clearTimeout(timer);
        waiting--;
      }
    },
    async close(lastCall) {
      closed = true;
      await starting;
      await own?.close(lastCall);
    },
  };
}
