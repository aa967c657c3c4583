// The place of a worker behind the thread that serves calls.
import { execFile } from 'node:child_process';
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
  behindOthers(0);
}

/**
 * Lets a process of ours run only when no other wants its core: whoever wakes has the core at once, where another
 * priority alone lets the one that runs go on for some milliseconds. While all cores are busy it gets next to nothing:
 * whoever waits for it has to have another way. On systems without it the process is put behind others.
 */
export function idleProcess(pid: number): void {
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
