// The priority of workers, below that of the thread that serves calls.
import { execFile } from 'node:child_process';
import { setPriority } from 'node:os';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/** Of Unix: 0 is usual, 19 the last. At 10 a thread gets a tenth of a core that another one wants as well. */
const NICENESS = 10;

/** Worker threads inherit it from the thread that starts them; a process's priority is set by the one that starts it. */
const USUAL = 'usual priority';

/** From here on all work has the usual priority: for programs whose main thread waits for it on a busy machine. */
export function keepUsualPriority(): void {
  setEnvironmentData(USUAL, true);
}

/**
 * Gives the calling worker thread the lowest priority on the machine: its work can wait for calls that are being
 * served. Where threads have no priority of their own (all but Linux) nothing is changed.
 */
export function backgroundThread(): void {
  // Elsewhere the number 0 means the whole process.
  if (isMainThread || process.platform !== 'linux' || getEnvironmentData(USUAL) === true) return;
  behindOthers(0);
}

/**
 * Lets a process of ours run only while no other process wants its core. Any process that wakes gets the core at once;
 * a lower priority alone would let the running one go on for some milliseconds. While all cores are busy it gets next
 * to nothing: a caller that waits for it needs another way. On systems without it the process gets a lower priority.
 */
export function idleProcess(pid: number): void {
  if (getEnvironmentData(USUAL) === true) return;
  behindOthers(pid);
  if (process.platform !== 'linux') return;
  // Node.js has no call for it; the program is in every distribution's base.
  execFile('chrt', ['-i', '-p', '0', String(pid)], () => {});
}

/** @param pid 0: the thread that calls, or the process */
function behindOthers(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch {
    // A sandbox may refuse it. The work is done all the same.
  }
}
