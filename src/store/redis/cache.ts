// The cache in Lua: values are keys of their own with Redis's expiry; a sorted set knows the order of use, a hash
// when each was made, until when it lives and what it counts for.
import { cachedSize } from '../shared/cache.ts';
import { listOf, type RedisScript, textOf } from './script.ts';

const COMMON = `
local function drop(key)
  local meta = redis.call('HGET', P .. 'c:m', key)
  if not meta then return false end
  redis.call('DEL', P .. 'c:v:' .. key)
  redis.call('HDEL', P .. 'c:m', key)
  redis.call('ZREM', P .. 'c:u', key)
  redis.call('DECRBY', P .. 'c:t', string.match(meta, '(%d+)$'))
  return true
end
local function use(key)
  redis.call('ZADD', P .. 'c:u', redis.call('INCR', P .. 'c:n'), key)
end
`;

export const readCache: RedisScript<'readCache'> = {
  bytes: true,
  lua: `${COMMON}
local key, maxAge = A(1), tonumber(A(2))
local meta = redis.call('HGET', P .. 'c:m', key)
if not meta then return {} end
local made, ends = string.match(meta, '^(%d+):(%d+)')
local value = redis.call('GET', P .. 'c:v:' .. key)
if not value or tonumber(ends) <= nowMs then
  drop(key)
  return {}
end
local age = math.max(0, nowMs - tonumber(made))
if maxAge and age > maxAge then return {} end
use(key)
return { value, int(age) }`,
  encode: ({ key, maxAgeMs }) => [key, maxAgeMs ?? ''],
  decode: (reply) => {
    const [value, age] = listOf(reply);
    return Buffer.isBuffer(value) ? { value, ageMs: Number(textOf(age)) } : undefined;
  },
};

export const writeCache: RedisScript<'writeCache'> = {
  lua: `${COMMON}
local key, ttl, size, max = A(1), tonumber(A(2)), tonumber(A(3)), tonumber(A(4))
local dropped = drop(key)
local total, evicted = tonumber(redis.call('GET', P .. 'c:t') or '0'), 0
if size > max then return { '0', int(total), '0' } end
while total + size > max do
  local oldest = redis.call('ZRANGE', P .. 'c:u', 0, 0)[1]
  if not oldest then break end
  drop(oldest)
  evicted = evicted + 1
  total = tonumber(redis.call('GET', P .. 'c:t') or '0')
end
redis.call('SET', P .. 'c:v:' .. key, A(5))
expire(P .. 'c:v:' .. key, ttl)
redis.call('HSET', P .. 'c:m', key, int(nowMs) .. ':' .. int(nowMs + ttl) .. ':' .. int(size))
use(key)
redis.call('INCRBY', P .. 'c:t', int(size))
return { '1', int(total + size), int(evicted) }`,
  encode: ({ key, value, ttlMs, maxBytes }) => [
    key,
    ttlMs,
    cachedSize(key, value),
    maxBytes,
    Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  ],
  decode: (reply) => {
    const [kept, bytes, evicted] = listOf(reply).map(textOf);
    return { kept: kept === '1', bytes: Number(bytes), evicted: Number(evicted) };
  },
};

export const removeCache: RedisScript<'removeCache'> = {
  lua: `${COMMON}
return drop(A(1)) and 1 or 0`,
  encode: ({ key }) => [key],
  decode: (reply) => reply === 1,
};
