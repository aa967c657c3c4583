// Waits that share a look once a second: never early, at most one look late, and no timer while none waits.
import test from 'ava';
import { type LongWait, LongWaits } from '../../../src/lib/egress/long-waits.ts';

const LOOK_MS = 10;

interface Watched extends LongWait {
  readonly done: Promise<number>;
}

function wait(waits: LongWaits, patienceMs: number): Watched {
  const { promise, resolve } = Promise.withResolvers<number>();
  const begun = performance.now();
  const watched = {
    place: -1,
    seenAt: 0,
    patienceMs,
    done: promise,
    silence(): void {
      waits.delete(watched);
      resolve(performance.now() - begun);
    },
  };
  waits.add(watched);
  return watched;
}

test('each wait ends after its own patience, never before', async (t) => {
  const waits = new LongWaits(LOOK_MS);
  const all = [100, 35, 60, 100].map((patienceMs) => wait(waits, patienceMs));
  // Nothing else keeps this process open.
  for (const { done, patienceMs } of all) t.true((await done) >= patienceMs, String(patienceMs));
});

test('a sign of life begins the wait anew, one that has ended is not told, and a later one is watched again', async (t) => {
  const waits = new LongWaits(LOOK_MS);
  const gone = wait(waits, 20);
  let told = false;
  void gone.done.then(() => {
    told = true;
  });
  waits.delete(gone);
  const alive = wait(waits, 50);
  const begun = performance.now();
  for (let i = 0; i < 5; i++) {
    await wait(waits, 20).done;
    alive.seenAt = waits.now;
  }
  const lastSign = performance.now() - begun;
  t.true((await alive.done) >= lastSign + 50 - 2 * LOOK_MS);
  t.false(told);
  const looks = waits.now;
  await new Promise((resolve) => setTimeout(resolve, 5 * LOOK_MS));
  t.true(waits.now <= looks + LOOK_MS, 'nobody waits, nobody looks');
  t.true((await wait(waits, 20).done) >= 20);
});
