// The main thread's end of a worker, against one that hangs and dies.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { startWorker } from '../../src/store/sqlite/worker-client.ts';
import type { FragileCall } from './fragile-worker.ts';

const entry = new URL('./fragile-worker.ts', import.meta.url);

function start(
  apart: boolean,
  bounds: { deadlineMs?: number; maxQueued?: number; maxQueuedLength?: number } = {},
) {
  const setup = { path: '', collections: [] };
  return startWorker<FragileCall>(
    entry,
    setup,
    {
      deadlineMs: 5000,
      maxQueued: 100,
      maxQueuedLength: 1000,
      ...bounds,
    },
    apart,
  );
}

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof GatewayError ? error.reason : String(error)),
  );
}

for (const [kind, apart] of [
  ['a thread', false],
  ['a process', true],
] as const) {
  test(`${kind}: answers go to their callers`, async (t) => {
    const client = await start(apart);
    const numbers = Array.from({ length: 50 }, (_, i) => i);
    t.deepEqual(await Promise.all(numbers.map((echo) => client.call<number>({ echo }))), numbers);
    await client.close({ echo: 0 });
    t.is(await reasonOf(client.call({ echo: 1 })), 'store_unavailable');
  });

  test(`${kind}: a worker that dies fails its callers, and another takes its place`, async (t) => {
    const client = await start(apart);
    const outcomes = await Promise.all([
      reasonOf(client.call({ die: true })),
      reasonOf(client.call({ echo: 1 })),
    ]);
    t.deepEqual(outcomes, ['store_unavailable', 'store_unavailable']);
    t.is(await reasonOf(client.call({ echo: 1 })), 'store_unavailable');
    let answer: number | undefined;
    for (let i = 0; i < 300 && answer === undefined; i++) {
      await sleep(20);
      answer = await client.call<number>({ echo: 7 }).catch(() => undefined);
    }
    t.is(answer, 7);
    await client.close({ echo: 0 });
  });

  test(`${kind}: a call ends at its deadline, whatever the worker does, and is not run after it`, async (t) => {
    const client = await start(apart, { deadlineMs: 100 });
    let isHanging = true;
    const hanging = client.call({ hangMs: 4000 }, 0, 30_000).finally(() => {
      isHanging = false;
    });
    await sleep(20);
    t.is(await reasonOf(client.call({ die: true })), 'store_unavailable');
    t.true(isHanging, 'it is told before the worker comes to it');
    t.is(await hanging, null);
    // The worker lives: it did not run what came too late.
    t.is(await client.call<number>({ echo: 3 }, 0, 30_000), 3);
    await client.close({ echo: 0 });
  });

  test(`${kind}: the queue is bounded by number and by length, late calls included`, async (t) => {
    const client = await start(apart, { deadlineMs: 50, maxQueued: 3 });
    const hanging = client.call({ hangMs: 800 }, 0, 5000);
    await Promise.all([reasonOf(client.call({ echo: 1 })), reasonOf(client.call({ echo: 2 }))]);
    const error = await t.throwsAsync(client.call({ echo: 3 }), { instanceOf: GatewayError });
    t.is(error?.details.retryAfterMs, 1000);
    await hanging;
    await sleep(50);
    t.is(await reasonOf(client.call({ echo: 1 }, 1001, 5000)), 'store_unavailable');
    t.is(await client.call<number>({ echo: 1 }, 1000, 5000), 1);
    await client.close({ echo: 0 });
  });
}
