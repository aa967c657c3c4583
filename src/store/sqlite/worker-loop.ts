// A worker's end: takes all that waits in the port as one group, answers it as one message.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { trimHeapWhenIdle } from '../../lib/trim-heap.ts';
import { LATER } from '../../lib/warm-workers.ts';
import {
  type Envelope,
  type Failure,
  monotonicNow,
  type Opened,
  type Reply,
  type WorkerEnd,
  type WorkerSetup,
} from './protocol.ts';
import { onlyProcess } from './reader-process.ts';

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

/** Runs a group of calls and answers each. */
export type RunGroup<C> = (group: readonly Envelope<C>[]) => readonly Reply[];

/**
 * Runs each call of a group for itself: one that fails leaves the others alone.
 * @param perform is told when the caller leaves, by `monotonicNow`
 */
export function eachAlone<C>(perform: (call: C, expiresAt: number) => unknown): RunGroup<C> {
  return (group) =>
    group.map(([id, expiresAt, call]): Reply => {
      try {
        return [id, perform(call, expiresAt)];
      } catch (error) {
        return [id, undefined, failureOf(error)];
      }
    });
}

/**
 * Opens by `open` and runs groups without end, each of all that waits and `groupSize` calls at the most, so that a
 * transaction has an end and the answers that reach the main thread at once are few. What waited longer than
 * its caller is answered without being run: a late write would surprise.
 */
export function serve<C, S = WorkerSetup>(groupSize: number, open: (setup: S) => RunGroup<C>): void {
  const port = parentPort;
  if (port === null) {
    onlyProcess((setup, end) => serveOver(end, groupSize, open, setup as S));
    return;
  }
  const next = (): unknown => receiveMessageOnPort(port)?.message;
  const onMessage = (take: (message: unknown) => void): void => void port.on('message', take);
  const end: WorkerEnd = { post: (message) => port.postMessage(message), onMessage, next };
  const begin = (setup: unknown): void => {
    serveOver(end, groupSize, open, setup as S);
    trimHeapWhenIdle();
  };
  if (workerData === LATER) port.once('message', begin);
  else begin(workerData);
}

function serveOver<C, S>(end: WorkerEnd, groupSize: number, open: (setup: S) => RunGroup<C>, setup: S): void {
  let run: RunGroup<C>;
  try {
    run = open(setup);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const todo = /disk is full/.test(why) ? ': make room on the disk of the data folder' : '';
    const message = `the store could not be opened: ${why}${todo}`;
    end.post({ opened: false, message } satisfies Opened);
    return;
  }
  let waiting: Envelope<C>[] = [];
  end.onMessage((first) => {
    waiting.push(...(first as readonly Envelope<C>[]));
    while (waiting.length > 0) {
      for (let next = end.next(); next !== undefined; next = end.next()) {
        waiting.push(...(next as readonly Envelope<C>[]));
      }
      const group = waiting.slice(0, groupSize);
      waiting = waiting.slice(groupSize);
      const now = monotonicNow();
      const timely = group.filter(([, expiresAt]) => expiresAt > now);
      const late = group.length === timely.length ? [] : group.filter(([, expiresAt]) => expiresAt <= now);
      end.post([...late.map(tooLate), ...run(timely)]);
    }
  });
  end.post({ opened: true } satisfies Opened);
}

function tooLate([id]: Envelope<unknown>): Reply {
  return [id, undefined, { reason: 'store_unavailable', message: 'the store was too slow' }];
}
