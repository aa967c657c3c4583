// How long each test file took, told by the processes that run them and read at the end of the run.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Duration {
  /** The file's path below the tests, without `.test.ts`. */
  readonly file: string;
  readonly seconds: number;
  /** CPU seconds of the thread that ran it. */
  readonly cpu: number;
}

/** Begins to measure a file. The answer ends it and adds it to the run's durations. */
export function measureFile(file: string): () => void {
  const folder = process.env.SLUICE_TEST_RUN_DIR;
  const began = performance.now();
  const usage = process.threadCpuUsage();
  return () => {
    if (folder === undefined || !existsSync(folder)) return;
    const { user, system } = process.threadCpuUsage(usage);
    const seconds = (performance.now() - began) / 1000;
    const duration: Duration = { file, seconds, cpu: (user + system) / 1e6 };
    appendFileSync(join(folder, 'durations'), `${JSON.stringify(duration)}\n`);
  };
}

/** The run's files, the slowest first. */
export function durations(folder: string): Duration[] {
  const path = join(folder, 'durations');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Duration).sort((a, b) => b.seconds - a.seconds);
}
