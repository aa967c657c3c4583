// A worker that starts with its first call, ends when it rests, and starts again; and one that loads before its setup is known.
import test from 'ava';
import { LATER, takeWarmWorker, warmWorker } from '../../src/lib/warm-workers.ts';
import { lazyWorker } from '../../src/store/sqlite/log/lazy-worker.ts';
import { startWorker } from '../../src/store/sqlite/worker-client.ts';
import { eventually } from '../support/eventually.ts';
import type { FragileCall } from './fragile-worker.ts';

const entry = new URL('./fragile-worker.ts', import.meta.url);
const setup = { path: '', collections: [] };
const bounds = { deadlineMs: 10_000, maxQueued: 100, maxQueuedLength: 1000 };

/** Threads of this process by the kernel's count. */
async function threads(): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  return Number(/^Threads:\s+(\d+)/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1]);
}

test.serial(
  'a worker at rest ends, a call starts another one, and calls meanwhile are answered',
  async (t) => {
    const rest = { ms: () => 500, lastCall: { echo: 0 } };
    const worker = lazyWorker<FragileCall>(entry, setup, bounds, { rest });
    for (let round = 0; round < 3; round++) {
      t.is(await worker.call<number>({ echo: round }), round);
      if (process.platform !== 'linux') continue;
      const running = await threads();
      await eventually('the thread ends', async () => (await threads()) < running);
    }
    t.deepEqual(await Promise.all([1, 2, 3].map((echo) => worker.call<number>({ echo }))), [1, 2, 3]);
    await worker.close({ echo: 0 });
    await t.throwsAsync(worker.call({ echo: 1 }), { message: /closed/ });
  },
);

test.serial('a call that wants a longer rest keeps it, whatever comes after it', async (t) => {
  const made = (ms: (call: FragileCall) => number) =>
    lazyWorker<FragileCall>(entry, setup, bounds, { rest: { ms, lastCall: { echo: 0 } } });
  const staying = made((call) => ('echo' in call && call.echo === 1 ? 600_000 : 0));
  const leaving = made(() => 0);
  await staying.call({ echo: 1 });
  if (process.platform === 'linux') {
    const running = await threads();
    await staying.call({ echo: 2 });
    await leaving.call({ echo: 3 });
    await eventually('the other ends', async () => (await threads()) <= running);
    t.is(await threads(), running);
  }
  t.is(await staying.call<number>({ echo: 4 }), 4);
  await Promise.all([staying, leaving].map((worker) => worker.close({ echo: 0 })));
});

test.serial('a warm worker is told its setup and taken once', async (t) => {
  warmWorker(entry);
  const client = await startWorker<FragileCall>(entry, setup, bounds);
  t.is(takeWarmWorker(entry, setup), undefined);
  t.is(await client.call<number>({ echo: 7 }), 7);
  await client.close({ echo: 0 });
  t.is(LATER, 'later');
});
