// Threads and processes of gateways that tests start in their own process run from the build where it is fresh: a thread
// that begins with the sources compiles some sixty modules, which takes four times the CPU.
import child_process from 'node:child_process';
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import worker_threads, { type WorkerOptions } from 'node:worker_threads';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));

/** @param program the build's program, which is as fresh as the sources */
export function useBuiltWorkers(program: string): void {
  const folder = dirname(program);
  /** An entry of the sources as the build names it (see src/build/relocate.ts); any other one as it is. */
  const builtOf = (entry: string): string => {
    if (!entry.startsWith(SOURCES)) return entry;
    const name = relative(SOURCES, entry).split(sep).join('-').replace(/\.ts$/, '.js');
    const built = join(folder, name);
    return existsSync(built) ? built : entry;
  };
  const { Worker } = worker_threads;
  worker_threads.Worker = class extends Worker {
    constructor(entry: string | URL, options?: WorkerOptions) {
      super(
        entry instanceof URL && entry.protocol === 'file:' ? builtOf(fileURLToPath(entry)) : entry,
        options,
      );
    }
  };
  const { fork } = child_process;
  child_process.fork = ((path: string, ...rest: [string[]]) => fork(builtOf(path), ...rest)) as typeof fork;
  syncBuiltinESMExports();
}
