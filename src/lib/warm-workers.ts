// Worker threads that begin to load before it is known what they are to open: a start needs them as soon as its own modules
// are loaded, and they load on another core meanwhile.
import { Worker } from 'node:worker_threads';

/** What such a worker finds in the place of its setup, which comes as its first message. */
export const LATER = 'later';

/** Megabytes of the young generation, as for all workers of a gateway. */
const YOUNG_MB = 24;

const warm = new Map<string, Worker>();

/** Starts one. It does not hold the process; one that fails is forgotten. */
export function warmWorker(entry: URL): void {
  const worker = new Worker(entry, {
    workerData: LATER,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  worker.unref();
  warm.set(entry.href, worker);
  const forget = (): void => {
    if (warm.get(entry.href) === worker) warm.delete(entry.href);
  };
  worker.on('error', forget).on('exit', forget);
}

/** The one of an entry, told its setup; undefined: none was started. It is the caller's from then on. */
export function takeWarmWorker(entry: URL, setup: object): Worker | undefined {
  const worker = warm.get(entry.href);
  if (worker === undefined) return undefined;
  warm.delete(entry.href);
  worker.ref();
  worker.postMessage(setup);
  return worker;
}
