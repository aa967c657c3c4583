// The flag that a heap is trimmed with belongs to the process: threads that trim at once take it from each other.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';

const MODULE = new URL('../../src/lib/trim-heap.ts', import.meta.url).href;
const THREADS = 4;

test('threads that trim their heaps at the same time neither fail nor stop', async (t) => {
  const code = `import('${MODULE}').then(({ trim }) => { let n = 0; while (n < 40) n += trim() ? 1 : 0; });`;
  const workers = Array.from({ length: THREADS }, () => new Worker(code, { eval: true }));
  const ends = await Promise.all(workers.map((worker) => once(worker, 'exit')));
  t.deepEqual(
    ends.map(([code]) => code),
    Array.from({ length: THREADS }, () => 0),
  );
});
