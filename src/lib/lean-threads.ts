// The young generation of worker threads.
import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/**
 * Worker threads that start from now on get a small young generation; this thread keeps its own. The process's flag for it
 * is for the thread that serves calls, and each worker would reserve as much again. In a thread of another program nothing is
 * changed: the flags are the whole process's.
 */
export function leanThreads(): void {
  if (!isMainThread) return;
  setFlagsFromString('--min-semi-space-size=1');
  setFlagsFromString('--max-semi-space-size=8');
}
