// Makes the young generation small again. Evaluating the modules, and each burst of calls, lets it grow to its largest size,
// and V8 makes it smaller only at a collection that finds a low rate of allocation over the last five seconds: an idle
// gateway has no collections (measured: 32 MB that stay resident). A young collection takes a few milliseconds, keeps the
// compiled code, and lets the space grow again under load. After the start it waits a minute: calls come in bursts.
import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 500;
/** Share of the time that the event loop is busy, below which there is nothing to do. */
const IDLE_BELOW = 0.1;
/** Looks in a row that find it idle, at which a collection is made: the first ends the busy time for V8's rate. */
const AT_START: ReadonlySet<number> = new Set([1, 12, 24]);
/** The same later: a burst pays for a small young generation (measured: a fifth of the CPU time of a burst of 2 s). */
const AT: ReadonlySet<number> = new Set([120, 132, 144]);
/** The start and what it loads are over by then, from the start of the process. */
const STARTED_MS = 20_000;
/** Bytes from which on there is something to give back. */
const LARGE = 4 * 2 ** 20;

type Collect = (options: { readonly type: 'minor' }) => void;

/** Watches this thread's event loop from now on. Returns the function that stops it. */
export function shrinkYoungWhenIdle(): () => void {
  let before = performance.eventLoopUtilization();
  let idle = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idle = utilization < IDLE_BELOW ? idle + 1 : 0;
    const at = performance.now() < STARTED_MS ? AT_START : AT;
    if (at.has(idle) && youngBytes() >= LARGE) collect();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Bytes that the young generation of this thread has reserved. */
export function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

let found: Collect | undefined;

function collect(): void {
  if (found === undefined) {
    setFlagsFromString('--expose-gc');
    // Undefined when another thread took the flag, which belongs to the whole process, away again.
    found = runInNewContext('globalThis.gc') as Collect | undefined;
    setFlagsFromString('--no-expose-gc');
  }
  found?.({ type: 'minor' });
}
