// Gives back what the start of a worker thread needed; not for the thread that serves calls, where a last-resort collection
// throws compiled code away (measured: 7,000 calls per CPU second after it, 10,600 without). Evaluating the modules lets
// the young generation grow to its largest size, and only a full collection makes it small again; without one it stays
// resident until the first busy time is over (measured: 24 MB in the main thread, 4 to 7 MB in each worker).
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 500;
/** Share of the time that the event loop is busy, below which a collection disturbs no call. */
const IDLE_BELOW = 0.1;
/** A thread that is busy for so long is under load: its heap is the size that it needs. */
const MOST_LOOKS = 40;

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/** Once the calling thread's event loop is idle for half a second, its heap is collected and cut to what is in use. */
export function trimHeapWhenIdle(): void {
  let before = performance.eventLoopUtilization();
  let looks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if ((utilization < IDLE_BELOW && trim()) || ++looks >= MOST_LOOKS) clearInterval(timer);
  }, LOOK_MS);
  timer.unref();
}

/** Collects the calling thread's heap at once. @returns false when another thread took the flag, which belongs to the whole process, away again: the next look tries */
export function trim(): boolean {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as Collect | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major', flavor: 'last-resort' });
  return collect !== undefined;
}
