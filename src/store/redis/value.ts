// Values in Lua. A removed one keeps its version: 8 bytes and a key, for as long as the organisation lives.
import { listOf, type RedisScript, textOf } from './script.ts';

export const readValue: RedisScript<'readValue'> = {
  lua: `
local v = redis.call('HMGET', P .. 'v:' .. A(1), 'n', 'v')
return { v[1] or '0', v[2] and '1' or '0', v[2] or '' }`,
  encode: ({ key }) => [key],
  decode: (reply) => {
    const [version, there, value] = listOf(reply).map(textOf);
    return { version: Number(version), value: there === '1' ? value : undefined };
  },
};

export const writeValue: RedisScript<'writeValue'> = {
  lua: `
local key = P .. 'v:' .. A(1)
local v = redis.call('HMGET', key, 'n', 'v')
local version = v[1] or '0'
if version ~= A(2) then return { '0', version, v[2] and '1' or '0', v[2] or '' } end
version = int(tonumber(version) + 1)
redis.call('HSET', key, 'n', version)
if A(3) == '1' then redis.call('HSET', key, 'v', A(4)) else redis.call('HDEL', key, 'v') end
return { '1', version, A(3), A(4) }`,
  encode: ({ key, version, value }) => [key, version, value === undefined ? '0' : '1', value ?? ''],
  decode: (reply) => {
    const [written, version, there, value] = listOf(reply).map(textOf);
    return {
      written: written === '1',
      version: Number(version),
      value: there === '1' ? value : undefined,
    };
  },
};
