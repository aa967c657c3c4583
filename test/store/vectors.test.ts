// Vectors of cached answers, on every store: the embedded one, the run's Redis (which says no where it has no
// vector sets), and the scripts of Redis with its vector commands written in Lua, so that what they keep beside the
// sets is exercised on servers before Redis 8, too. That stands in for the sets, not for their search.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Redis } from 'ioredis';
import { GatewayError } from '../../src/lib/errors.ts';
import { keyPrefix } from '../../src/store/redis/runner.ts';
import { PRELUDE, type RedisScript, type Reply } from '../../src/store/redis/script.ts';
import { addVector, nearVectors, removeVector, VECTOR_COMMANDS } from '../../src/store/redis/vectors.ts';
import type { ScriptName } from '../../src/store/shared/scripts.ts';
import { vectorSize } from '../../src/store/shared/vectors.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { clearRedis, freshOrg, openEmbedded, openRedis } from './shared-stores.ts';

type Vectors = Pick<SharedState, 'addVector' | 'nearVectors' | 'removeVector'>;

const HOUR_MS = 3_600_000;
const server = await redisServer();
const embedded = await openEmbedded();
const state = server && (await openRedis(server.url));
test.after.always(() => embedded.close());

contract('embedded', embedded);

if (!server || !state) {
  reportMissing(test, 'Redis');
} else {
  const redis = new Redis(server.url);
  test.after.always(async () => {
    redis.disconnect();
    await state.close();
    await clearRedis(server.url);
  });
  contract('redis', state);
  contract('redis with commands in Lua', emulated(redis));

  test('what is left of vectors in Redis counts what is there, and expires', async (t) => {
    const org = freshOrg();
    const vectors = emulated(redis);
    const add = (id: string, dimensions = 4) =>
      vectors.addVector(org, {
        scope: 's',
        id,
        vector: new Float32Array(dimensions).fill(1),
        ttlMs: HOUR_MS,
        maxBytes: 1e6,
      });
    const size = vectorSize({ scope: 's', id: 'a', vector: new Float32Array(4) });
    const prefix = keyPrefix(org);
    await add('a');
    await add('a');
    await add('b');
    t.is(Number(await redis.get(`${prefix}v:t`)), 2 * size);
    t.false((await add('b', 5)).kept);
    t.is(Number(await redis.get(`${prefix}v:t`)), size);
    t.is(await redis.hlen(`${prefix}v:s:s`), 1);
    const keys = await redis.keys(`${prefix}*`);
    for (const key of keys) t.true((await redis.pttl(key)) > 0, key);
    await vectors.removeVector(org, { scope: 's', id: 'a' });
    t.is(await redis.get(`${prefix}v:t`), '0');
  });
}

function contract(name: string, vectors: Vectors): void {
  const { addVector: add, nearVectors: near, removeVector: remove } = vectors;
  const round = (value: number): number => Math.round(value * 1e4) / 1e4;

  test(`${name}: the nearest of a scope, or an honest no`, async (t) => {
    const org = freshOrg();
    const put = (id: string, values: number[], ttlMs = HOUR_MS, scope = 's') =>
      add(org, { scope, id, vector: Float32Array.from(values), ttlMs, maxBytes: 100_000 });
    const nearest = async (values: number[], scope = 's', whose = org) =>
      (await near(whose, { scope, vector: Float32Array.from(values), most: 3 })).found.map(
        ({ id, similarity }) => [id, round(similarity)],
      );
    if (!(await put('a', [2, 0])).supported) {
      t.log('this server has no vector sets');
      t.deepEqual(await near(org, { scope: 's', vector: Float32Array.of(1, 0), most: 3 }), {
        supported: false,
        found: [],
      });
      t.false(await remove(org, { scope: 's', id: 'a' }));
      return;
    }
    t.deepEqual(await nearest([1, 0]), [['a', 1]]);
    await put('b', [3, 4]);
    await put('c', [-1, 0]);
    await put('d', [0, 9]);
    t.deepEqual(await nearest([5, 0]), [
      ['a', 1],
      ['b', 0.6],
      ['d', 0],
    ]);
    await put('a', [0, -1]);
    t.deepEqual((await nearest([0, -2]))[0], ['a', 1], 'replaced');
    t.deepEqual(await nearest([1, 0], 't'), [], 'another scope');
    t.deepEqual(await nearest([1, 0], 's', freshOrg()), [], 'another organisation');
    t.deepEqual(await put('e', [1, 2, 3]), { supported: true, kept: false }, 'other dimensions');
    t.deepEqual(await nearest([1, 2, 3]), []);
    await put('f', [1, 1], 60);
    t.deepEqual((await nearest([1, 1]))[0], ['f', 1]);
    await sleep(80);
    t.not((await nearest([1, 1]))[0]?.[0], 'f', 'its time is over');
    t.true(await remove(org, { scope: 's', id: 'b' }));
    t.false(await remove(org, { scope: 's', id: 'b' }));
    t.false((await nearest([3, 4])).some(([id]) => id === 'b'));
  });

  test(`${name}: bytes are bounded, the oldest go`, async (t) => {
    const org = freshOrg();
    const vector = Float32Array.of(1, 2);
    const size = vectorSize({ scope: 's', id: 'a', vector });
    const put = (scope: string, id: string, maxBytes = 3 * size) =>
      add(org, { scope, id, vector, ttlMs: HOUR_MS, maxBytes });
    if (!(await put('s', 'a')).supported) return t.pass();
    for (const id of ['b', 'c', 'd']) await put('s', id);
    const left = async () =>
      (await near(org, { scope: 's', vector, most: 9 })).found.map(({ id }) => id).sort();
    t.deepEqual(await left(), ['b', 'c', 'd']);
    t.false((await put('s', 'e', size - 1)).kept);
    t.deepEqual(await left(), ['b', 'c', 'd']);
    await put('t', 'f');
    t.deepEqual(await left(), ['c', 'd'], 'over all scopes');
  });
}

test('what is no vector or no scope is refused', async (t) => {
  const good = { scope: 's', id: 'a', vector: Float32Array.of(1), ttlMs: 1, maxBytes: 1 };
  for (const bad of [
    { vector: new Float32Array(0) },
    { vector: Float32Array.of(0, 0) },
    { vector: Float32Array.of(Number.NaN) },
    { vector: new Float32Array(8193).fill(1) },
    { scope: 'a:b' },
    { scope: '' },
    { id: '' },
    { ttlMs: 0 },
  ])
    await t.throwsAsync(embedded.addVector('o', { ...good, ...bad }), { instanceOf: GatewayError });
});

/** The scripts with Redis 8's commands as functions over a hash: every vector is looked at. */
function emulated(redis: Redis): Vectors {
  const commands = `
local function numbers(blob)
  local list = {}
  for at = 1, #blob, 4 do list[#list + 1] = struct.unpack('<f', blob, at) end
  return list
end
local function vadd(key, vector, id)
  local first = redis.call('HVALS', key)[1]
  if first and #first ~= #vector then return { err = 'ERR Vector dimension mismatch' } end
  return redis.call('HSET', key, id, vector)
end
local function vrem(key, id) return redis.call('HDEL', key, id) end
local function vsim(key, vector, count)
  local query, found = numbers(vector), {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local own, ab, aa, bb = numbers(all[i + 1]), 0, 0, 0
    if #own ~= #query then return { err = 'ERR Vector dimension mismatch' } end
    for n = 1, #own do ab, aa, bb = ab + own[n] * query[n], aa + own[n] ^ 2, bb + query[n] ^ 2 end
    found[#found + 1] = { all[i], (1 + ab / math.sqrt(aa * bb)) / 2 }
  end
  table.sort(found, function(a, b) return a[2] > b[2] end)
  local reply = {}
  for i = 1, math.min(count, #found) do
    reply[#reply + 1] = found[i][1]
    reply[#reply + 1] = string.format('%.17g', found[i][2])
  end
  return reply
end
`;
  const run =
    <N extends ScriptName>(script: RedisScript<N>) =>
    async (org: string, args: Parameters<typeof script.encode>[0]) => {
      const lua = PRELUDE + script.lua.replace(VECTOR_COMMANDS, () => commands);
      const reply = await redis.call('EVAL', lua, '1', keyPrefix(org), '', ...script.encode(args));
      return script.decode(reply as Reply, args);
    };
  return { addVector: run(addVector), nearVectors: run(nearVectors), removeVector: run(removeVector) };
}
