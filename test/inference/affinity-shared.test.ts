// Warm targets on several instances: what one learns, the others follow, and each alone goes on without the shared state.
import test from 'ava';
import { AffinityStore } from '../../src/inference/route/affinity.ts';
import { freshOrg, openRedis } from '../store/shared-stores.ts';
import { redisServer, reportMissing } from '../support/servers.ts';

const MINUTE_MS = 60_000;
const server = await redisServer();
if (server === undefined) reportMissing(test, 'Redis');
else {
  test('an instance follows where another one’s conversation is warm, and where it moves to', async (t) => {
    const states = await Promise.all([openRedis(server.url), openRedis(server.url)]);
    t.teardown(() => Promise.all(states.map((state) => state.close())));
    const [one, other] = states.map((state) => new AffinityStore(state, Date.now)) as [
      AffinityStore,
      AffinityStore,
    ];
    const org = freshOrg();
    t.deepEqual(await one.claim(org, 'k', 2, MINUTE_MS), { index: 2, warm: false });
    t.deepEqual(await other.claim(org, 'k', 0, MINUTE_MS), { index: 2, warm: true });
    t.deepEqual(await other.claim(`${org}-2`, 'k', 0, MINUTE_MS), { index: 0, warm: false });
    await other.answered(org, 'k', 2, 1, MINUTE_MS);
    t.deepEqual(await one.claim(org, 'k', 0, MINUTE_MS), { index: 1, warm: true });
    await one.answered(org, 'k', 1, 1, MINUTE_MS);
    t.deepEqual(await other.claim(org, 'k', 0, MINUTE_MS), { index: 1, warm: true });
  });

  test('instances that begin one conversation at once agree on one target', async (t) => {
    const states = await Promise.all(Array.from({ length: 4 }, () => openRedis(server.url)));
    t.teardown(() => Promise.all(states.map((state) => state.close())));
    const org = freshOrg();
    const claimed = await Promise.all(
      states.map((state, i) => new AffinityStore(state, Date.now).claim(org, 'k', i, MINUTE_MS)),
    );
    t.is(new Set(claimed.map(({ index }) => index)).size, 1);
    t.is(claimed.filter(({ warm }) => !warm).length, 1);
  });
}

test('an instance whose shared state fails goes on with what it knows', async (t) => {
  const away = {
    acquireLease: () => Promise.reject(new Error('away')),
    releaseLease: () => Promise.reject(new Error('away')),
  };
  let now = 0;
  const store = new AffinityStore(away, () => now);
  t.deepEqual(await store.claim('o', 'k', 1, 1000), { index: 1, warm: false });
  t.deepEqual(await store.claim('o', 'k', 2, 1000), { index: 1, warm: true });
  now = 1001;
  t.deepEqual(await store.claim('o', 'k', 2, 1000), { index: 2, warm: false });
});
