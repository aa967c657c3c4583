// The response cache in Redis: the contract over two instances, and a Redis that is slow or gone.
import { createServer } from 'node:net';
import test from 'ava';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import { createResponseCache } from '../../../src/inference/cache/response-cache.ts';
import { createSharedAnswers, PAUSE_MS, READ_MS } from '../../../src/inference/cache/shared-answers.ts';
import { openRedisState } from '../../../src/store/redis/open-redis.ts';
import { clearRedis, freshOrg, openRedis } from '../../store/shared-stores.ts';
import { redisServer, reportMissing, startOwnRedis } from '../../support/servers.ts';
import { withSlack } from '../../support/slack.ts';
import { responseCacheContract } from './response-cache.contract.ts';
import { ask, SIMPLE, soon, subject, TEXT } from './subject.ts';

const server = await redisServer();

if (!server) {
  reportMissing(test, 'Redis');
} else {
  const states = [await openRedis(server.url), await openRedis(server.url)];
  // Calls of one connection keep their order once the server knows the scripts.
  for (const state of states) {
    await state.writeCache(freshOrg(), { key: 'k', value: Buffer.from('x'), ttlMs: 1000, maxBytes: 1000 });
    await state.readCache(freshOrg(), { key: 'k' });
    await state.removeCache(freshOrg(), { key: 'k' });
  }
  let opened = 0;
  test.after.always(async () => {
    for (const state of states) await state.close();
    await clearRedis(server.url);
  });
  responseCacheContract(test, {
    open: () => createSharedAnswers({ state: states[opened++ % 2]!, maxBytes: 1e6, readMs: 5000 }),
    freshOrg,
    shared: true,
  });

  test('the turn of an instance that died is free when its lease ends; a call that may not wait does not', async (t) => {
    const org = freshOrg();
    const cache = createResponseCache({
      answers: createSharedAnswers({ state: states[0]!, maxBytes: 1e6, readMs: 5000 }),
      vectors: createLocalVectors({ maxBytes: 1e6 }),
    });
    const waiting = ask(subject({ model: 'm' }, org), SIMPLE);
    const { key } = await cache.peek(waiting.call, TEXT);
    const leaseMs = 400;
    await states[1]!.acquireLease(org, { key: `answering:${key}:whole`, owner: 'dead', leaseMs });
    const began = performance.now();
    const ended = cache.whole(waiting.call, TEXT, async () => performance.now().toString());
    const hedge = ask(subject({ model: 'm' }, org), SIMPLE, { waitMs: 0 });
    const at = await cache.whole(hedge.call, { ...TEXT, keeps: () => false }, async () =>
      performance.now().toString(),
    );
    t.is(hedge.report().status, 'MISS');
    const other = Number(await ended);
    t.true(other - began >= leaseMs * 0.9, 'not before');
    t.true(Number(at) < other, 'the hedge went on by itself');
  });

  test('a Redis that freezes costs one call a bounded moment, and is used again once it thaws', async (t) => {
    const own = await startOwnRedis();
    t.truthy(own, 'a Redis of its own can be started wherever the run has one');
    if (own === undefined) return;
    const state = await openRedis(own.url);
    t.teardown(async () => {
      await state.close();
      await own.stop();
    });
    const cache = createResponseCache({
      answers: createSharedAnswers({ state, maxBytes: 1e6, readMs: 1000 }),
      vectors: createLocalVectors({ maxBytes: 1e6 }),
    });
    const once = async () => {
      const asked = ask(subject({ model: 'm' }, 'o'), SIMPLE);
      const began = performance.now();
      t.is(await cache.whole(asked.call, TEXT, async () => 'answer'), 'answer');
      return { ms: performance.now() - began, status: asked.report().status };
    };
    t.is((await once()).status, 'MISS');
    await soon(20);
    t.is((await once()).status, 'HIT');
    own.pause();
    const frozen = [];
    for (let i = 0; i < 10; i++) frozen.push(await once());
    own.resume();
    t.true(frozen.every(({ status }) => status === 'DISABLED'));
    t.log(`frozen: ${frozen.map(({ ms }) => ms.toFixed(1)).join(', ')} ms`);
    t.true(frozen.reduce((sum, { ms }) => sum + ms, 0) < 3000, 'one wait, not ten');
    await soon(PAUSE_MS);
    let after = await once();
    for (let i = 0; i < 50 && after.status !== 'HIT'; i++) {
      await soon(100);
      after = await once();
    }
    t.is(after.status, 'HIT');
  });

  test('the turn of an instance that failed is free at once', async (t) => {
    const org = freshOrg();
    const caches = states.map((state) =>
      createResponseCache({
        answers: createSharedAnswers({ state, maxBytes: 1e6, readMs: 5000 }),
        vectors: createLocalVectors({ maxBytes: 1e6 }),
      }),
    );
    const about = subject({ model: 'm' }, org);
    const started = Promise.withResolvers<void>();
    const failing = caches[0]!.whole(ask(about, SIMPLE).call, TEXT, async () => {
      started.resolve();
      await soon(50);
      throw new Error('down');
    });
    await started.promise;
    const began = performance.now();
    const other = caches[1]!.whole(ask(about, SIMPLE).call, TEXT, async () => 'answer');
    await t.throwsAsync(failing, { message: 'down' });
    t.is(await other, 'answer');
    t.true(performance.now() - began < withSlack(2000));
  });
}

for (const [name, port] of [
  ['refuses', async () => 1],
  ['never answers', silentPort],
] as const) {
  test(`a Redis that ${name} costs a bounded moment once, and the status says DISABLED`, async (t) => {
    const state = openRedisState({ url: `redis://127.0.0.1:${await port()}` });
    const cache = createResponseCache({
      answers: createSharedAnswers({ state, maxBytes: 1e6 }),
      vectors: createLocalVectors({ maxBytes: 1e6 }),
    });
    const times: number[] = [];
    for (let i = 0; i < 20; i++) {
      const asked = ask(subject({ model: 'm', i }, 'o'), SIMPLE);
      const began = performance.now();
      t.is(await cache.whole(asked.call, TEXT, async () => 'answer'), 'answer');
      times.push(performance.now() - began);
      t.is(asked.report().status, 'DISABLED');
      t.regex(asked.report().reason ?? '', /does not answer/);
    }
    t.log(
      `the first call: ${times[0]?.toFixed(1)} ms more; the others: ${Math.max(...times.slice(1)).toFixed(1)} ms`,
    );
    let runs = 0;
    const about = subject({ model: 'm', same: true }, 'o');
    const run = async (): Promise<string> => {
      runs++;
      await soon(20);
      return 'answer';
    };
    await Promise.all(Array.from({ length: 50 }, () => cache.whole(ask(about, SIMPLE).call, TEXT, run)));
    t.is(runs, 1, 'the calls of one instance still share a flight');
    t.true(times[0]! < READ_MS + 400);
    t.true(times.slice(1).reduce((sum, time) => sum + time) < READ_MS + 400);
    await state.close();
  });
}

async function silentPort(): Promise<number> {
  const silent = createServer(() => undefined);
  silent.unref();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  return (silent.address() as { port: number }).port;
}
