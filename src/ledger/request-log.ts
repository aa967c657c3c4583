// The request log's writing side: the hot path pushes entries, and they are stored in batches after the answer.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestRecord } from '../call/record.ts';
import { fail, GatewayError } from '../lib/errors.ts';
import type { RequestLogStore, WrittenEntry } from '../store/request-log.ts';
import { SlicedAppend } from './sliced-append.ts';

/** Entries that were lost, and why. */
export interface LogDrop {
  readonly count: number;
  /** `overflow`: the store was away for too long. `refused`: it will never take them. `closed`: it was away at the end. */
  readonly reason: 'overflow' | 'refused' | 'closed';
  readonly cause?: unknown;
}

export interface RequestLogOptions {
  readonly store: RequestLogStore;
  /** Milliseconds. */
  readonly flushEveryMs?: number;
  /** Entries of one append. */
  readonly maxBatch?: number;
  /** The most entries that wait; beyond it the oldest are dropped. */
  readonly maxBuffered?: number;
  /**
   * Called with the position of an entry for which the buffer has no room; true: it is kept elsewhere, and comes
   * to the store by another way. Without it such an entry is lost.
   */
  readonly spill?: (position: number) => boolean;
  /** Called when the entries up to a position are done: stored, refused for good, or spilled. */
  readonly onPassed?: (position: number) => void;
  /** Called for every loss, at most once per flush; never silent, so it is required. */
  readonly onDrop: (drop: LogDrop) => void;
  /** How long `flush` and `close` wait for the store, in milliseconds. */
  readonly flushDeadlineMs?: number;
}

/** Counts since the start: recorded = stored + buffered + spilled + failed. */
export interface RequestLogStats {
  readonly recorded: number;
  readonly stored: number;
  /** Waiting or on the way. */
  readonly buffered: number;
  /** Kept elsewhere, for lack of room. */
  readonly spilled: number;
  /** Lost, and reported by `onDrop`. */
  readonly failed: number;
}

export interface RequestLog {
  /**
   * Takes an entry. Never throws, never waits. Answers its position: how many were taken with it.
   * @param text the entry as `encodeEntry` writes it, when that was done already
   */
  record(entry: RequestRecord, text?: string): number;
  /**
   * Resolves when every entry recorded so far is durable, or was reported lost; rejects with
   * `store_unavailable` when that takes longer than the deadline (the entries stay buffered).
   */
  flush(): Promise<void>;
  stats(): RequestLogStats;
  /** How long the oldest that is buffered has waited, in milliseconds. */
  lagMs(): number;
  /** Stores what is buffered, within the deadline; reports what then is left as lost. */
  close(): Promise<void>;
}

const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2000;

/**
 * Starts a log over a store. A failing store is asked again after a jittered, doubling pause, in order; an
 * entry that it refuses for another reason than being unavailable is found by halving its batch, and dropped.
 */
export function createRequestLog(options: RequestLogOptions): RequestLog {
  const { store, onDrop, spill, onPassed } = options;
  const { flushEveryMs = 50, maxBatch = 1000, maxBuffered = 100_000, flushDeadlineMs = 10_000 } = options;
  /** Texts where they were made: a text is a third of its entry, and nothing that garbage collection has to walk. */
  let waiting: WrittenEntry[] = [];
  /** Entries before it are gone; moving them at each overflow would cost their number each time. */
  let head = 0;
  let onTheWay = 0;
  let recorded = 0;
  let stored = 0;
  let failed = 0;
  let overflown = 0;
  let spilled = 0;
  /** Entries up to it are done. */
  let passed = 0;
  const ages = new Ages();
  const slices = new SlicedAppend(store, maxBatch);
  let closed = false;
  let pumping: Promise<void> | undefined;
  const stopped = new AbortController();

  function record(entry: RequestRecord, text: string | undefined): void {
    recorded++;
    waiting.push(text ?? entry);
    if (waiting.length - head + onTheWay > maxBuffered) overflow();
  }

  function overflow(): void {
    if (head < waiting.length) {
      const position = recorded - (waiting.length - head) + 1;
      head++;
      if (spill?.(position)) {
        spilled++;
      } else {
        overflown++;
        failed++;
      }
      if (onTheWay === 0) pass();
    }
    if (head > maxBatch && head * 2 > waiting.length) compact();
  }

  function compact(): void {
    waiting = waiting.slice(head);
    head = 0;
  }

  /** All entries before the waiting ones are done. Called only while none is on the way. */
  function pass(): void {
    passed = recorded - (waiting.length - head);
    onPassed?.(passed);
  }

  function takeBatch(): WrittenEntry[] {
    const entries = waiting.slice(head, head + maxBatch);
    head += entries.length;
    if (head === waiting.length) {
      waiting = [];
      head = 0;
    } else if (head > maxBatch * 16) {
      compact();
    }
    onTheWay = entries.length;
    return entries;
  }

  function drop(count: number, reason: LogDrop['reason'], cause?: unknown): void {
    try {
      onDrop({ count, reason, ...(cause === undefined ? {} : { cause }) });
    } catch {
      // The log never fails its caller, and there is no listener left.
    }
  }

  function reportOverflow(): void {
    if (overflown === 0) return;
    const count = overflown;
    overflown = 0;
    drop(count, 'overflow');
  }

  function pump(): Promise<void> {
    pumping ??= drain().finally(() => {
      pumping = undefined;
    });
    return pumping;
  }

  async function drain(): Promise<void> {
    while (head < waiting.length && !stopped.signal.aborted) {
      await append(takeBatch());
      if (!stopped.signal.aborted) pass();
    }
  }

  /** Stores a batch, however long it takes; finds by halving what the store refuses. */
  async function append(entries: readonly WrittenEntry[]): Promise<void> {
    let pauseMs = RETRY_FIRST_MS;
    let at = 0;
    const onStored = (count: number): void => {
      // After close they are in the books as lost.
      if (stopped.signal.aborted) return;
      at += count;
      stored += count;
      onTheWay -= count;
      pauseMs = RETRY_FIRST_MS;
    };
    while (!stopped.signal.aborted) {
      try {
        await slices.append(entries.slice(at), onStored);
        return;
      } catch (error) {
        if (!isPassing(error)) {
          await refused(entries.slice(at), error);
          return;
        }
        // Between half the pause and all of it, so that many processes do not come back as one.
        await pause(pauseMs * (0.5 + Math.random() / 2));
        pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS);
      }
    }
  }

  async function refused(entries: readonly WrittenEntry[], cause: unknown): Promise<void> {
    if (entries.length > 1) {
      const half = entries.length >> 1;
      await append(entries.slice(0, half));
      await append(entries.slice(half));
      return;
    }
    onTheWay -= entries.length;
    failed += entries.length;
    drop(entries.length, 'refused', cause);
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
  }

  async function flush(): Promise<void> {
    const target = recorded;
    const deadline = performance.now() + flushDeadlineMs;
    while (stored + failed + spilled < target) {
      const left = deadline - performance.now();
      if (left <= 0) throw fail('store_unavailable', 'the request log could not be stored in time');
      await settled(pump(), left);
    }
    reportOverflow();
  }

  const timer = setInterval(() => {
    ages.note(recorded, passed);
    if (head < waiting.length) void pump();
    reportOverflow();
  }, flushEveryMs);
  timer.unref();

  return {
    record: (entry, text) => {
      if (closed) {
        recorded++;
        failed++;
        drop(1, 'closed');
        return recorded;
      }
      record(entry, text);
      return recorded;
    },
    flush,
    stats: () => ({
      recorded,
      stored,
      spilled,
      failed,
      buffered: recorded - stored - spilled - failed,
    }),
    lagMs: () => ages.oldest(passed),
    close: async () => {
      if (closed) return;
      const cause = await flush().catch((error: unknown) => error);
      closed = true;
      clearInterval(timer);
      stopped.abort();
      reportOverflow();
      const left = recorded - stored - spilled - failed;
      if (left === 0) return;
      waiting = [];
      head = 0;
      if (spill) {
        spilled += left;
      } else {
        failed += left;
        drop(left, 'closed', cause);
      }
    },
  };
}

/** Whether a retry may help: any error that is not a refusal with a reason of its own. */
function isPassing(error: unknown): boolean {
  // A value that JSON cannot express is a TypeError (a cycle, a BigInt) or a RangeError (too deep, too long).
  if (error instanceof TypeError || error instanceof RangeError) return false;
  return !(error instanceof GatewayError) || error.reason === 'store_unavailable';
}

/** Resolves when the promise settles or the time is over. */
async function settled(promise: Promise<void>, ms: number): Promise<void> {
  const over = new AbortController();
  await Promise.race([promise, sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
  over.abort();
}

/** Since when entries wait, to the turn of the timer. */
class Ages {
  readonly #marks: { readonly recorded: number; readonly at: number }[] = [];

  note(recorded: number, passed: number): void {
    while (this.#marks[0] !== undefined && this.#marks[0].recorded <= passed) this.#marks.shift();
    const last = this.#marks.at(-1);
    if (recorded > Math.max(passed, last?.recorded ?? 0))
      this.#marks.push({ recorded, at: performance.now() });
    // A store that is away for long: the oldest mark is what counts, not how many there are.
    if (this.#marks.length > MOST_MARKS) this.#marks.splice(1, this.#marks.length / 2);
  }

  oldest(passed: number): number {
    const mark = this.#marks.find(({ recorded }) => recorded > passed);
    return mark === undefined ? 0 : performance.now() - mark.at;
  }
}

const MOST_MARKS = 2000;
