// Leases in Lua. Tokens rise with the clock, so that no counter of a lease long gone must be kept.
import { listOf, type RedisScript, textOf } from './script.ts';

export const acquireLease: RedisScript<'acquireLease'> = {
  lua: `
local key, owner, leaseMs = P .. 'l:' .. A(1), A(2), tonumber(A(3))
local v = redis.call('HMGET', key, 'o', 't', 'e')
local live = v[1] and tonumber(v[3]) > nowMs
if live and v[1] ~= owner then return { '0', v[1], v[2], v[3] } end
local token, expiry = v[2], int(nowMs + leaseMs)
if not live then
  token = int(math.max(now, (tonumber(redis.call('GET', P .. 'l!')) or 0) + 1))
  redis.call('SET', P .. 'l!', token)
end
redis.call('HSET', key, 'o', owner, 't', token, 'e', expiry)
expire(key, leaseMs + 1000)
return { '1', owner, token, expiry }`,
  encode: ({ key, owner, leaseMs }) => [key, owner, leaseMs],
  decode: (reply) => {
    const [acquired, owner = '', token, expiresAt] = listOf(reply).map(textOf);
    return { acquired: acquired === '1', owner, token: Number(token), expiresAt: Number(expiresAt) };
  },
};

export const renewLease: RedisScript<'renewLease'> = {
  lua: `
local key = P .. 'l:' .. A(1)
local v = redis.call('HMGET', key, 'o', 'e')
if v[1] ~= A(2) or tonumber(v[2]) <= nowMs then return 0 end
redis.call('HSET', key, 'e', int(nowMs + tonumber(A(3))))
expire(key, tonumber(A(3)) + 1000)
return 1`,
  encode: ({ key, owner, leaseMs }) => [key, owner, leaseMs],
  decode: (reply) => reply === 1,
};

export const releaseLease: RedisScript<'releaseLease'> = {
  lua: `
local key = P .. 'l:' .. A(1)
local v = redis.call('HMGET', key, 'o', 'e')
if v[1] ~= A(2) or tonumber(v[2]) <= nowMs then return 0 end
redis.call('DEL', key)
return 1`,
  encode: ({ key, owner }) => [key, owner],
  decode: (reply) => reply === 1,
};
