// The journal's scripts in Lua: a stream with ids of our own, its claims in a sorted set by the end of the lease.
import { JOURNAL, listOf, type RedisScript, textOf } from './script.ts';

/** `rememberMs`: how long the id of an appended entry is known. */
export function appendScript(rememberMs: number): RedisScript<'appendJournal'> {
  return {
    lua: `${JOURNAL}
local max, fresh, size, seen = tonumber(A(1)), {}, journalSize(), {}
local repeated = 0
for i = 2, #ARGV - 1, 2 do
  local id = A(i)
  if seen[id] or redis.call('EXISTS', P .. 'j:e:' .. id) == 1 then
    repeated = repeated + 1
  else
    fresh[#fresh + 1] = i
  end
  seen[id] = true
end
if size + #fresh > max then return { '0', '0', int(size) } end
for _, i in ipairs(fresh) do
  redis.call('SET', P .. 'j:e:' .. A(i), '')
  expire(P .. 'j:e:' .. A(i), ${rememberMs})
  journalAppend(A(i), A(i + 1))
end
return { '1', int(repeated), int(size + #fresh) }`,
    encode: ({ entries, maxLength }) => [maxLength, ...entries.flatMap(({ id, data }) => [id, data])],
    decode: (reply) => {
      const [accepted, repeated, size] = listOf(reply).map(textOf);
      return { accepted: accepted === '1', repeated: Number(repeated), size: Number(size) };
    },
  };
}

/** Entries that one claim looks at beyond those that it hands out, so that it does not block other calls. */
const MOST_LOOKED = 2000;

export const claimJournal: RedisScript<'claimJournal'> = {
  lua: `
local consumer, expiry, max = A(1), int(nowMs + tonumber(A(2))), tonumber(A(3))
local reply = {}
local function hand(entry)
  local seq = string.sub(entry[1], 3)
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = seq, entry[2][2], entry[2][6]
  redis.call('ZADD', P .. 'j:p', expiry, string.format('%015.0f', tonumber(seq)))
  redis.call('HSET', P .. 'j:o', seq, consumer)
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'j:p', '-inf', int(nowMs), 'LIMIT', 0, max)) do
  local id = '0-' .. int(tonumber(member))
  local found = redis.call('XRANGE', P .. 'j', id, id)
  if found[1] then hand(found[1]) end
end
-- entries that were claimed when they were appended are among those that are unclaimed
local from, looked = redis.call('HGET', P .. 'j:m', 'claimed') or '0', 0
local last = from
while #reply / 3 < max and looked < ${MOST_LOOKED} do
  local found = redis.call('XRANGE', P .. 'j', '(0-' .. last, '+', 'COUNT', max - #reply / 3)
  if #found == 0 then break end
  for _, entry in ipairs(found) do
    last = string.sub(entry[1], 3)
    if redis.call('HEXISTS', P .. 'j:o', last) == 0 then hand(entry) end
  end
  looked = looked + #found
end
if last ~= from then redis.call('HSET', P .. 'j:m', 'claimed', last) end
return reply`,
  encode: ({ consumer, leaseMs, max }) => [consumer, leaseMs, max],
  decode: (reply) => {
    const flat = listOf(reply).map(textOf);
    return Array.from({ length: flat.length / 3 }, (_, i) => ({
      seq: flat[i * 3] ?? '',
      id: flat[i * 3 + 1] ?? '',
      data: flat[i * 3 + 2] ?? '',
    }));
  },
};

export const acknowledgeJournal: RedisScript<'acknowledgeJournal'> = {
  lua: `
local done = 0
for i = 2, #ARGV - 1 do
  local seq = A(i)
  if redis.call('HGET', P .. 'j:o', seq) == A(1) then
    redis.call('HDEL', P .. 'j:o', seq)
    redis.call('ZREM', P .. 'j:p', string.format('%015.0f', tonumber(seq)))
    redis.call('XDEL', P .. 'j', '0-' .. seq)
    done = done + 1
  end
end
return int(done)`,
  encode: ({ consumer, seqs }) => [consumer, ...seqs.map((seq) => String(Number(seq)))],
  decode: (reply) => Number(textOf(reply)),
};

export const readJournal: RedisScript<'readJournal'> = {
  lua: `
local first = redis.call('XRANGE', P .. 'j', '-', '+', 'COUNT', 1)[1]
local lag = first and math.max(0, nowMs - tonumber(first[2][4])) or 0
return { int(redis.call('XLEN', P .. 'j')), int(redis.call('ZCARD', P .. 'j:p')), int(lag) }`,
  encode: () => [],
  decode: (reply) => {
    const [size, claimed, lagMs] = listOf(reply).map((text) => Number(textOf(text)));
    return { size: size ?? 0, claimed: claimed ?? 0, lagMs: lagMs ?? 0 };
  },
};
