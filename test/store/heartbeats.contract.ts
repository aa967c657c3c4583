// What every store of heartbeats does.
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import type { Heartbeat, Heartbeats } from '../../src/store/heartbeats.ts';

function beatOf(id: string, logBuffered = 0): Heartbeat {
  const about = { instance: 'host:1', pid: 7, version: '1.2.3', runtime: 'v24.0.0', upMs: 5 };
  return { ...about, id, logBuffered, logLagMs: 1.5 };
}

/** Registers the contract's tests. @param age makes the last heartbeat of a process so many milliseconds older */
export function heartbeatsContract(
  test: TestFn,
  store: () => Promise<Heartbeats>,
  age: (id: string, ms: number) => Promise<void>,
): void {
  test('heartbeats: a process is listed with what it told last, until it leaves', async (t) => {
    const beats = await store();
    const [own, other] = [randomUUID(), randomUUID()];
    await beats.beat(beatOf(other));
    await beats.beat(beatOf(other, 3));
    const listed = await beats.recent(beatOf(own));
    t.like(
      listed.find(({ id }) => id === other),
      beatOf(other, 3),
    );
    t.is(listed.find(({ id }) => id === own)?.ageMs, 0);
    await beats.leave(other);
    await beats.leave(other);
    t.false((await beats.recent(beatOf(own))).some(({ id }) => id === other));
    await beats.leave(own);
  });

  test('heartbeats: a process that fell silent is listed for 15 seconds', async (t) => {
    const beats = await store();
    const [own, late, dead] = [randomUUID(), randomUUID(), randomUUID()];
    for (const id of [own, late, dead]) await beats.beat(beatOf(id));
    await age(late, 5000);
    await age(dead, 15_001);
    const listed = await beats.recent(beatOf(own));
    t.false(listed.some(({ id }) => id === dead));
    t.true((listed.find(({ id }) => id === late)?.ageMs ?? 0) >= 5000);
    await beats.beat(beatOf(own));
    await age(dead, 0);
    t.false(
      (await beats.recent(beatOf(own))).some(({ id }) => id === dead),
      'its record is gone',
    );
    for (const id of [own, late]) await beats.leave(id);
  });

  test('heartbeats: a process that begins twice at once is listed once', async (t) => {
    const beats = await store();
    const own = randomUUID();
    await Promise.all(Array.from({ length: 8 }, () => beats.recent(beatOf(own))));
    t.is((await beats.recent(beatOf(own))).filter(({ id }) => id === own).length, 1);
    await beats.leave(own);
  });
}
