import{a as own_createHash}from"./_builtin_crypto-Cq9BU8ZG.js";import{n as fail}from"./errors-BXZH-2D6.js";import{t as urlText}from"./url-text-IWsKIDJ7.js";import{r as require_built}from"./connections-DkJGELNK.js";const PRELUDE=`
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
`;const AMOUNTS=`
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
`;const BUDGETS=`
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
`;const WINDOWS=`
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
`;const JOURNAL=`
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
`;function poolArguments(pool){return pool===void 0?[``,``,``]:[pool.key,pool.most,pool.others]}function textOf(reply){return typeof reply===`string`?reply:String(reply??``)}function listOf(reply){return Array.isArray(reply)?reply:[]}function maybeNumber(reply){const text=textOf(reply);return text===``?void 0:Number(text)}var import_built=require_built();function writesTogether(client){if(client instanceof import_built.Cluster)return()=>{};let corked;const end=()=>{const stream=corked;corked=void 0;stream?.uncork()};return()=>{if(corked!==void 0)return;const{stream}=client;if(!stream?.writable)return;corked=stream;stream.cork();setImmediate(end)}}function keyPrefix(organisationId){return`sluice:{${urlText(organisationId)}}:`}function scriptRunner(client,scripts,bounds){const loaded=/* @__PURE__ */ new Map;const within=boundedCalls(bounds);const together=writesTogether(client);function load(name){let found=loaded.get(name);if(found===void 0){const text=PRELUDE+scripts[name].lua;found={text,digest:own_createHash(`sha1`).update(text).digest(`hex`)};loaded.set(name,found)}return found}async function evaluate(name,bytes,rest){const{text,digest}=load(name);together();const send=(command,body)=>bytes?client.callBuffer(command,[body,`1`,...rest]):client.call(command,[body,`1`,...rest]);try{return await send(`EVALSHA`,digest)}catch(error){if(!(error instanceof Error)||!error.message.startsWith(`NOSCRIPT`))throw error;return await send(`EVAL`,text)}}return{within,run:async(name,organisationId,args,deadlineMs)=>{const script=scripts[name];const clock=bounds.testClock===void 0?``:String(Math.round(bounds.testClock()*1e3));const rest=[keyPrefix(organisationId),clock,...script.encode(args)];const reply=await within(()=>evaluate(name,script.bytes===true,rest),deadlineMs);try{return script.decode(reply,args)}catch(cause){throw fail(`store_unavailable`,`the shared store gave an answer that is none`,{cause})}}}}function boundedCalls(bounds){let queued=0;return function within(call,deadlineMs=bounds.deadlineMs){if(queued>=bounds.maxQueued)return Promise.reject(fail(`store_unavailable`,`the shared store has too much to do`,{retryAfterMs:1e3}));queued++;return new Promise((resolve,reject)=>{const late=()=>reject(fail(`store_unavailable`,`the shared store did not answer in time; the step may have been made`));const alarm=setTimeout(()=>setImmediate(late),Math.min(deadlineMs,bounds.deadlineMs));call().then(resolve,cause=>reject(fail(`store_unavailable`,`the shared store failed; the step may have been made`,{cause}))).finally(()=>{clearTimeout(alarm);queued--})})}}export{BUDGETS as a,WINDOWS as c,poolArguments as d,textOf as f,AMOUNTS as i,listOf as l,keyPrefix as n,JOURNAL as o,scriptRunner as r,PRELUDE as s,boundedCalls as t,maybeNumber as u};