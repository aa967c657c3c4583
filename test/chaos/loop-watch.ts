// Loaded into the gateway under attack (`--import`): answers SIGUSR2 by writing its longest turn of the event loop, in
// milliseconds of the thread's own CPU time, as JSON to CHAOS_LOOP_FILE. CPU time, not wall time: on a busy machine a
// process that waits for a core holds nothing.
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.CHAOS_LOOP_FILE;
// Worker threads load it too, and get no signals: watched there, they would only take processor time.
if (file !== undefined && isMainThread) {
  let longestUs = 0;
  let before = cpuUs();
  setInterval(() => {
    const now = cpuUs();
    longestUs = Math.max(longestUs, now - before);
    before = now;
  }, 2).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, JSON.stringify({ longestMs: longestUs / 1000 }));
    renameSync(`${file}.new`, file);
    longestUs = 0;
    before = cpuUs();
  });
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
