// The place of a worker thread behind the thread that serves calls.
import { setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';

/** Of Unix: 0 is usual, 19 the last. At 10 a thread gets a tenth of a core that another one wants as well. */
const NICENESS = 10;

/**
 * Puts the worker thread that calls it behind all others of the machine that have work: what it does can wait for calls
 * that are being served. Where threads have no priority of their own (all but Linux) nothing is changed.
 */
export function backgroundThread(): void {
  // Elsewhere the number 0 means the whole process.
  if (isMainThread || process.platform !== 'linux') return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // A sandbox may refuse it. The work is done all the same.
  }
}
