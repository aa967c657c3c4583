// A worker's end: takes all that waits in the port as one group, answers it as one message.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import {
  type Envelope,
  type Failure,
  monotonicNow,
  type Opened,
  type Reply,
  type WorkerSetup,
} from './protocol.ts';

/** Thrown in a worker for what the caller shall learn. */
export class FailureError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Whatever was thrown in a worker, as data. What SQLite says is for the log. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof FailureError) return thrown.failure;
  const cause = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { reason: 'store_unavailable', message: 'the store failed', cause };
}

/** Calls of one group at the most, so that a transaction has an end. */
const GROUP = 2048;

/**
 * Opens by `open` and runs groups by `run` for ever. What waited longer than its caller is answered without
 * being run: a late write would surprise.
 */
export function serve<C>(
  open: (setup: WorkerSetup) => (group: readonly Envelope<C>[]) => readonly Reply[],
): void {
  const port = parentPort;
  if (port === null) throw new Error('a worker entry, not a program');
  let run: ReturnType<typeof open>;
  try {
    run = open(workerData as WorkerSetup);
  } catch (error) {
    const message = `the store could not be opened: ${error instanceof Error ? error.message : String(error)}`;
    port.postMessage({ opened: false, message } satisfies Opened);
    return;
  }
  port.on('message', (first: readonly Envelope<C>[]) => {
    const group: Envelope<C>[] = [];
    const late: Reply[] = [];
    const now = monotonicNow();
    const take = (envelopes: readonly Envelope<C>[]): void => {
      for (const envelope of envelopes) {
        if (envelope[1] > now) group.push(envelope);
        else
          late.push([
            envelope[0],
            undefined,
            { reason: 'store_unavailable', message: 'the store was too slow' },
          ]);
      }
    };
    take(first);
    while (group.length < GROUP) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) break;
      take(next.message as readonly Envelope<C>[]);
    }
    port.postMessage([...late, ...run(group)]);
  });
  port.postMessage({ opened: true } satisfies Opened);
}
