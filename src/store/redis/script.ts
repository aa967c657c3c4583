// What a script of the Redis adapter is, and the pieces of Lua that several share.
import type { BudgetPool } from '../shared/admit.ts';
import type { ArgsOf, ResultOf, ScriptName } from '../shared/scripts.ts';

/** What goes after the clock's argument. */
export type Argument = string | number | Buffer;

/** A script's reply: Lua's strings and tables; strings are Buffers where the script asks for them. */
export type Reply = string | Buffer | number | null | readonly Reply[];

/**
 * One script. In its Lua, `P` is the prefix of all keys of the organisation (with its hash tag, so that one
 * node of a cluster has them all), `now` is Redis's clock in microseconds, `nowMs` in milliseconds, and
 * `A` the arguments from 1.
 */
export interface RedisScript<N extends ScriptName> {
  readonly lua: string;
  readonly encode: (args: ArgsOf<N>) => readonly Argument[];
  readonly decode: (reply: Reply, args: ArgsOf<N>) => ResultOf<N>;
  /** Replies as Buffers. */
  readonly bytes?: true;
}

/**
 * Before every body. A first argument that is not empty is a test's clock; keys then never expire by
 * themselves, because Redis would expire them by its own.
 */
export const PRELUDE = `
local P = KEYS[1]
local now = tonumber(ARGV[1])
local real = now == nil
if real then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
local nowMs = math.floor(now / 1000)
local function A(i) return ARGV[i + 1] end
local function int(n) return string.format('%.0f', n) end
local function expire(key, ms)
  if real then redis.call('PEXPIRE', key, math.ceil(ms)) end
end
`;

/**
 * Exact whole numbers beyond 2^53, which Lua's doubles are not: two limbs to the base of 10^12 (`hi`, `lo`), kept
 * as decimal text. Numbers below 2^53 go to Redis and into replies as they are: neither rounds them.
 */
export const AMOUNTS = `
local BASE = 1e12
local function parse(s)
  if not s then return 0, 0 end
  local n = #s
  if n <= 12 then return 0, tonumber(s) end
  return tonumber(string.sub(s, 1, n - 12)), tonumber(string.sub(s, n - 11))
end
local function text(hi, lo)
  if hi < 1 then return string.format('%.0f', lo) end
  return string.format('%.0f%012.0f', hi, lo)
end
local function sum(ah, al, bh, bl)
  local lo = al + bl
  if lo >= BASE then return ah + bh + 1, lo - BASE end
  return ah + bh, lo
end
-- the text of a - b, or of 0 when b is more
local function rest(ah, al, bh, bl)
  local hi, lo = ah - bh, al - bl
  if lo < 0 then hi, lo = hi - 1, lo + BASE end
  if hi < 0 then return '0' end
  return text(hi, lo)
end
`;

/**
 * A budget is a hash: `s` spent, `h` held, and `u` until when it is kept, in milliseconds: absent, it never expires.
 */
export const BUDGETS = `
-- where a budget is counted that may belong to a pool of at most so many: its name, fields, and whether it joins the pool
local function placeBudget(key, pool, most, others)
  local v = redis.call('HMGET', P .. 'b:' .. key, 's', 'h', 'u')
  if v[1] or v[2] or pool == '' then return key, v, false end
  if tonumber(redis.call('HGET', P .. 'b:' .. pool, 's') or '0') < tonumber(most) then return key, v, true end
  return others, redis.call('HMGET', P .. 'b:' .. others, 's', 'h', 'u'), false
end
-- writes fields of a budget with the time that it is kept until; '' is for ever
local function keepBudget(key, keep, ...)
  if keep == '' then
    redis.call('HSET', key, ...)
    redis.call('HDEL', key, 'u')
    if real then redis.call('PERSIST', key) end
  else
    redis.call('HSET', key, 'u', keep, ...)
    if real then redis.call('PEXPIREAT', key, keep) end
  end
end
local function joinBudgets(pool, keep)
  local key = P .. 'b:' .. pool
  local size = tonumber(redis.call('HGET', key, 's') or '0') + 1
  keepBudget(key, keep, 's', int(size), 'h', '0')
end
`;

/**
 * A window is a hash: `c` its newest slice, `t` the sum of all slices, and a ring of slices + 1 counts. Its key
 * says its slices, so that another division is another window. One read and one write on the usual way.
 */
export const WINDOWS = `
local function windowKey(w, S, key) return P .. 'w:' .. w .. ':' .. S .. ':' .. key end
-- the window as it stands now: nothing is written
local function look(key, w, S)
  local cur = math.floor(now / w)
  local v = redis.call('HMGET', key, 'c', 't', cur % (S + 1))
  local c, t = tonumber(v[1]), tonumber(v[2]) or 0
  local st = { key = key, w = w, S = S, cur = cur, total = t, count = tonumber(v[3]) or 0 }
  if c == cur then return st end
  st.count = 0
  if not c then
    st.fresh = true
  elseif cur > c then
    if cur - c > S then
      st.fresh, st.total = true, 0
    else
      local gone = {}
      for i = c + 1, cur do gone[#gone + 1] = i % (S + 1) end
      for _, n in ipairs(redis.call('HMGET', key, unpack(gone))) do
        if n then st.total = st.total - n end
      end
      st.gone = gone
    end
  elseif c - cur <= S then
    -- the clock went back: what is counted now belongs to the newest slice
    st.cur = c
    st.count = tonumber(redis.call('HGET', key, c % (S + 1))) or 0
  else
    -- by more than a window: all of it counts from now
    st.fresh, st.count = true, t
  end
  return st
end
local function take(st, cost)
  local key = st.key
  if st.fresh then
    redis.call('DEL', key)
  elseif st.gone then
    redis.call('HDEL', key, unpack(st.gone))
  end
  st.total, st.count = st.total + cost, st.count + cost
  redis.call('HSET', key, 'c', st.cur, 't', st.total, st.cur % (st.S + 1), st.count)
  if st.fresh or st.gone then expire(key, (st.S + 2) * st.w / 1000 + 1000) end
end
-- a pool of windows is a sorted set of their keys by when nothing of them counts any more, in microseconds.
-- Answers the window where a call is counted, and the others' where those count towards it
local function place(pool, key, most, w, S)
  local set = P .. 'g:' .. pool
  local name = windowKey(int(w), int(S), key)
  local ends = redis.call('ZSCORE', set, key)
  if ends and tonumber(ends) > now then return key, look(name, w, S) end
  local others = look(windowKey(int(w), int(S), pool .. ':others'), w, S)
  if redis.call('ZCOUNT', set, '(' .. int(now), '+inf') >= most then return pool .. ':others', others end
  if others.total > 0 then return key, look(name, w, S), others end
  return key, look(name, w, S)
end
-- a window that was counted in is one of its pool until nothing of it counts any more
local function joinPool(pool, key, st)
  if key == pool .. ':others' then return end
  local set, ends = P .. 'g:' .. pool, (st.cur + st.S + 1) * st.w
  redis.call('ZREMRANGEBYSCORE', set, '-inf', int(now))
  redis.call('ZADD', set, int(ends), key)
  expire(set, (st.S + 2) * st.w / 1000 + 1000)
end
-- gives back into the slice where it was counted, if the ring still has it
local function give(key, S, slice, cost)
  local pos = slice % (S + 1)
  local v = redis.call('HMGET', key, 'c', 't', pos)
  local c, n = tonumber(v[1]), tonumber(v[3]) or 0
  if not c or slice > c or slice < c - S then return end
  local d = math.min(cost, n)
  if d > 0 then redis.call('HSET', key, 't', tonumber(v[2]) - d, pos, n - d) end
end
-- microseconds until cost would fit under limit; nil: never
local function wait(st, cost, limit)
  if cost > limit then return nil end
  local S, need = st.S, st.total + cost - limit
  local fields = {}
  for i = st.cur - S, st.cur do fields[#fields + 1] = i % (S + 1) end
  local ring = {}
  if not st.fresh then ring = redis.call('HMGET', st.key, unpack(fields)) end
  local dead = {}
  for _, p in ipairs(st.gone or {}) do dead[p] = true end
  for i, p in ipairs(fields) do
    local n = tonumber(ring[i] or nil) or 0
    if dead[p] then n = 0 end
    if i == S + 1 then n = st.count end
    need = need - n
    if need <= 0 then return (st.cur + i) * st.w - now end
  end
  return nil
end
`;

/** The journal: a stream with ids 0-seq, and a hash `j:m` with the last seq and the last one claimed. */
export const JOURNAL = `
local function journalSize() return redis.call('XLEN', P .. 'j') end
-- claimed from the beginning for a consumer that is not ''
local function journalAppend(id, data, consumer, leaseMs)
  local seq = int(redis.call('HINCRBY', P .. 'j:m', 'tail', 1))
  redis.call('XADD', P .. 'j', '0-' .. seq, 'i', id, 't', nowMs, 'd', data)
  if consumer and consumer ~= '' then
    redis.call('ZADD', P .. 'j:p', int(nowMs + leaseMs), string.format('%015.0f', tonumber(seq)))
    redis.call('HSET', P .. 'j:o', seq, consumer)
  end
  return seq
end
`;

/** A budget's pool as scripts take it: three arguments. */
export function poolArguments(pool: BudgetPool | undefined): readonly Argument[] {
  return pool === undefined ? ['', '', ''] : [pool.key, pool.most, pool.others];
}

/** A reply's string or number as text. */
export function textOf(reply: Reply | undefined): string {
  return typeof reply === 'string' ? reply : String(reply ?? '');
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

/** A number, or undefined for the empty text. */
export function maybeNumber(reply: Reply | undefined): number | undefined {
  const text = textOf(reply);
  return text === '' ? undefined : Number(text);
}
