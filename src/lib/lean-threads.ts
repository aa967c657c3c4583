// The young generation of worker threads.
import { setFlagsFromString } from 'node:v8';

/**
 * Worker threads that start from now on get a small young generation; this thread keeps its own. The process's flag for it
 * is for the thread that serves calls, and each worker would reserve as much again.
 */
export function leanThreads(): void {
  setFlagsFromString('--min-semi-space-size=1');
  setFlagsFromString('--max-semi-space-size=8');
}
