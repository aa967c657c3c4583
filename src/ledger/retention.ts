// Retention: drops whole time buckets of the log when their retention time is over.
import type { LogRetention, LogStore } from '../store/log-store.ts';

/** What is dropped, and when. */
export interface RetentionDeps {
  readonly store: Pick<LogStore, 'expire'>;
  readonly retention: LogRetention;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onDropped: (buckets: readonly string[]) => void;
  readonly onTrouble: (error: unknown) => void;
  readonly everyMs?: number;
}

/** Several instances on one store may run it: a bucket that is dropped already is no error. */
const EVERY_MS = 10 * 60 * 1000;
const FIRST_MS = 5000;

/** Starts dropping. Returns the function that stops it, which resolves when nothing is under way. */
export function keepRetention(deps: RetentionDeps): () => Promise<void> {
  const { store, retention, now, onDropped, onTrouble, everyMs = EVERY_MS } = deps;
  let running: Promise<void> = Promise.resolve();
  let closed = false;
  const turn = async (): Promise<void> => {
    try {
      const dropped = await store.expire(retention, now());
      if (dropped.length > 0) onDropped(dropped);
    } catch (error) {
      onTrouble(error);
    }
  };
  const go = (): void => {
    running = running.then(() => (closed ? undefined : turn()));
  };
  const first = setTimeout(go, Math.min(FIRST_MS, everyMs)).unref();
  const timer = setInterval(go, everyMs).unref();
  return () => {
    closed = true;
    clearTimeout(first);
    clearInterval(timer);
    return running;
  };
}
