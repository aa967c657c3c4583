// The main thread's end of a worker: calls with a deadline and a bounded queue, sent once per turn of the
// event loop, and a new worker when one dies.
import { Worker } from 'node:worker_threads';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { takeWarmWorker } from '../../lib/warm-workers.ts';
import { FailedOperation } from '../documents.ts';
import { type Envelope, type Failure, monotonicNow, NOTICE, type Opened, type Reply } from './protocol.ts';
import { ReaderProcess } from './reader-process.ts';

export interface WorkerBounds {
  /** How long a caller waits, in milliseconds. */
  readonly deadlineMs: number;
  /** Calls sent and not answered; those above it are refused. */
  readonly maxQueued: number;
  /** The same in characters of what the calls carry. */
  readonly maxQueuedLength: number;
  /** What a caller is told that has waited long enough; by default that a write may have been made or not. */
  readonly whenLate?: string;
  /** Called with messages of the worker that no call asked for. */
  readonly onNotice?: (notice: unknown) => void;
}

export interface WorkerClient<C> {
  /** Resolves with the worker's answer. `length` is about how many characters the call carries. */
  call<T>(call: C, length?: number, deadlineMs?: number): Promise<T>;
  /** Sends the last call, which ends the worker; ends it by force at the deadline. */
  close(lastCall: C): Promise<void>;
}

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: GatewayError) => void;
  readonly expiresAt: number;
  readonly length: number;
  /** The deadline passed; it counts as queued until the worker answers. */
  late: boolean;
}

const WHEN_LATE = 'the store did not answer in time; a write may have been made or not';
const RESTART_FIRST_MS = 100;
const RESTART_LAST_MS = 5000;

/**
 * Starts a worker and resolves when its database is open; rejects with the reason when it cannot be.
 * @param apart whether it is a process of its own; else it is a thread of this one
 */
export async function startWorker<C>(
  entry: URL,
  setup: object,
  bounds: WorkerBounds,
  apart = false,
): Promise<WorkerClient<C>> {
  const pending = new Map<number, Pending>();
  let outbox: Envelope<C>[] = [];
  let lastId = 0;
  let queuedLength = 0;
  let worker: Worker | ReaderProcess | undefined;
  let closing = false;
  let restartMs = RESTART_FIRST_MS;
  let alarm: NodeJS.Timeout | undefined;
  let alarmAt = Number.POSITIVE_INFINITY;

  function start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const started = apart
        ? new ReaderProcess(entry, setup)
        : (takeWarmWorker(entry, setup) ?? new Worker(entry, { workerData: setup }));
      started.once('message', (opened: Opened) => {
        if (!opened.opened) {
          void started.terminate();
          reject(fail('store_unavailable', opened.message));
          return;
        }
        worker = started;
        restartMs = RESTART_FIRST_MS;
        started.on('message', settle);
        resolve();
      });
      started.on('error', (cause) => {
        lost(started, cause);
        reject(fail('store_unavailable', 'the store could not be opened', { cause }));
      });
      started.on('exit', () => {
        lost(started, undefined);
        reject(fail('store_unavailable', 'the store could not be opened'));
      });
    });
  }

  function lost(which: Worker | ReaderProcess, cause: unknown): void {
    if (worker !== which) return;
    worker = undefined;
    outbox = [];
    const error = fail('store_unavailable', 'the store was interrupted; a write may have been made or not', {
      cause,
    });
    for (const entry of pending.values()) if (!entry.late) entry.reject(error);
    pending.clear();
    queuedLength = 0;
    if (!closing) restart();
  }

  function restart(): void {
    setTimeout(() => {
      if (!closing) start().catch(restart);
    }, restartMs).unref();
    restartMs = Math.min(restartMs * 2, RESTART_LAST_MS);
  }

  function settle(replies: readonly Reply[]): void {
    for (const [id, result, failure] of replies) {
      if (id === NOTICE) bounds.onNotice?.(result);
      const entry = pending.get(id);
      if (!entry) continue;
      pending.delete(id);
      queuedLength -= entry.length;
      if (entry.late) continue;
      if (failure) entry.reject(errorOf(failure));
      else entry.resolve(result as never);
    }
  }

  /** One timer for all calls: a timer for each would cost more than the call. */
  function watch(): void {
    alarmAt = Number.POSITIVE_INFINITY;
    const now = monotonicNow();
    let next = Number.POSITIVE_INFINITY;
    for (const entry of pending.values()) {
      if (entry.late) continue;
      if (entry.expiresAt > now) {
        next = Math.min(next, entry.expiresAt);
        continue;
      }
      entry.late = true;
      entry.reject(
        bounds.whenLate === undefined
          ? fail('store_unavailable', WHEN_LATE)
          : fail('store_unavailable', bounds.whenLate, { retryAfterMs: 1000 }),
      );
    }
    if (next !== Number.POSITIVE_INFINITY) arm(next, now);
  }

  function arm(at: number, now: number): void {
    clearTimeout(alarm);
    alarmAt = at;
    // After a stall of this thread the replies that came meanwhile are read first.
    alarm = setTimeout(() => setImmediate(watch), Math.max(1, Math.ceil(at - now)));
  }

  function send(): void {
    const batch = outbox;
    outbox = [];
    if (batch.length > 0) worker?.postMessage(batch);
  }

  function call<T>(what: C, length = 0, deadlineMs = bounds.deadlineMs): Promise<T> {
    if (worker === undefined || closing) {
      return Promise.reject(
        fail('store_unavailable', closing ? 'the store is closed' : 'the store is restarting'),
      );
    }
    if (pending.size >= bounds.maxQueued || queuedLength + length > bounds.maxQueuedLength) {
      return Promise.reject(
        fail('store_unavailable', 'the store has too much to do', { retryAfterMs: 1000 }),
      );
    }
    return new Promise<T>((resolve, reject) => {
      const now = monotonicNow();
      const expiresAt = now + deadlineMs;
      const id = ++lastId;
      pending.set(id, { resolve: resolve as (value: never) => void, reject, expiresAt, length, late: false });
      queuedLength += length;
      if (outbox.push([id, expiresAt, what]) === 1) queueMicrotask(send);
      if (expiresAt < alarmAt) arm(expiresAt, now);
    });
  }

  async function close(lastCall: C): Promise<void> {
    const last = closing ? undefined : call(lastCall).catch(() => undefined);
    closing = true;
    await last;
    const ending = worker;
    worker = undefined;
    clearTimeout(alarm);
    await ending?.terminate();
  }

  await start();
  return { call, close };
}

function errorOf(failure: Failure): GatewayError {
  const { reason, message, violations, operation, retryAfterMs, cause } = failure;
  const param = violations?.[0]?.field;
  return fail(reason, message, {
    ...(violations ? { violations } : {}),
    ...(param ? { param } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: operation === undefined ? cause : new FailedOperation(operation),
  });
}
