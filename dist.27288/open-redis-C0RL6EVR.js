import{n as fail}from"./errors-BXZH-2D6.js";import{n as createListeners,t as checkNotice}from"./notices-DeZjXpg4.js";import{a as cachedSize,r as vectorSize,t as sharedStateOver}from"./over-scripts-Cq3vwZb5.js";import{l as longestWait,t as MARK_MS,u as sliceLength}from"./holds-C4t93pbu.js";import"./bounds-DhmZvGnl.js";import{a as BUDGETS,c as WINDOWS,d as poolArguments,f as textOf,i as AMOUNTS,l as listOf,o as JOURNAL,r as scriptRunner,u as maybeNumber}from"./runner-DUWoxKRL.js";import{n as ping,t as connect}from"./connections-DkJGELNK.js";const OUTCOMES$2={a:`admitted`,f:`fits`,d:`denied`,r:`repeated`,s:`settled`,j:`journal_full`};const EACH=8;const admit={lua:`${AMOUNTS}${BUDGETS}${WINDOWS}${JOURNAL}
local dry, id, owner, leaseMs, note = A(1) == '1', A(2), A(3), tonumber(A(4)), A(5)
local journalMax, entryId, entryData = tonumber(A(6)), A(7), A(8)
local outcome, expiresAt, prior = 'a', '', nil
if id ~= '' then
  prior = redis.call('GET', P .. 'h:' .. id)
  if prior then
    if string.sub(prior, 1, 1) == 'S' then
      outcome = 's'
    else
      outcome, expiresAt = 'r', cmsgpack.unpack(string.sub(prior, 2))[2]
    end
  end
end
local reply, states, denied = {}, {}, false
for i = 9, #ARGV - 1, ${EACH} do
  local kind, key, limit = A(i), A(i + 1), A(i + 2)
  local no, remaining, retry, moved = '0', '', '', ''
  if kind == 'w' then
    local w, S, cost = tonumber(A(i + 3)), tonumber(A(i + 4)), tonumber(A(i + 5))
    local pool, name, st, others = A(i + 6), key, nil, nil
    if pool == '' then
      st = look(windowKey(A(i + 3), A(i + 4), key), w, S)
    else
      name, st, others = place(pool, key, tonumber(A(i + 7)), w, S)
    end
    local max, total = tonumber(limit), st.total + (others and others.total or 0)
    st.name, st.base = name, others and others.total or 0
    states[i] = st
    if not prior and total + cost > max then
      no = '1'
      local us = wait(others or st, cost, max)
      if us then retry = math.ceil(us / 1000) end
    end
    remaining = math.max(0, max - total)
  elseif kind == 'b' then
    local name, v, joins = placeBudget(key, A(i + 5), A(i + 6), A(i + 7))
    if name ~= key then moved = name end
    local sh, sl = parse(v[1])
    local hh, hl = parse(v[2])
    local ah, al = parse(A(i + 3))
    local uh, ul = sum(sh, sl, hh, hl)
    local th, tl = sum(uh, ul, ah, al)
    states[i] = { hh = hh, hl = hl, ah = ah, al = al, keep = v[3], name = name, joins = joins }
    if limit ~= '' then
      local ch, cl = parse(limit)
      if not prior and (th > ch or (th == ch and tl > cl)) then no = '1' end
      remaining = rest(ch, cl, uh, ul)
      states[i].left = rest(ch, cl, th, tl)
    end
  else
    local used = redis.call('ZCOUNT', P .. 's:' .. key, '(' .. nowMs, '+inf')
    if not prior and used >= tonumber(limit) then no = '1' end
    remaining = math.max(0, tonumber(limit) - used)
  end
  if no == '1' then denied = true end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = no, remaining, retry, moved
end
if prior then return { outcome, expiresAt, reply } end
if denied then return { 'd', '', reply } end
if journalMax and journalSize() >= journalMax then return { 'j', '', reply } end
if dry then return { 'f', '', reply } end
local items = {}
local expiry = nowMs + (leaseMs or 0)
for i = 9, #ARGV - 1, ${EACH} do
  local kind, key, st, at = A(i), A(i + 1), states[i], (i - 9) / ${EACH} * 4 + 2
  if kind == 'w' then
    local cost, pool = tonumber(A(i + 5)), A(i + 6)
    if cost > 0 then
      take(st, st.base + cost)
      if pool ~= '' then joinPool(pool, st.name, st) end
    end
    reply[at] = math.max(0, tonumber(A(i + 2)) - st.total - (cost > 0 and 0 or st.base))
    items[#items + 1] = { 'w', st.name, st.w, st.S, st.cur, cost }
    if pool ~= '' then items[#items][7], items[#items][8] = pool, key end
  elseif kind == 'b' then
    local held = text(sum(st.hh, st.hl, st.ah, st.al))
    if A(i + 4) == (st.keep or '') then
      redis.call('HSET', P .. 'b:' .. st.name, 'h', held)
    else
      keepBudget(P .. 'b:' .. st.name, A(i + 4), 'h', held)
    end
    if st.joins then joinBudgets(A(i + 5), A(i + 4)) end
    if st.left then reply[at] = st.left end
    items[#items + 1] = { 'b', st.name, A(i + 3) }
  else
    redis.call('ZADD', P .. 's:' .. key, expiry, id)
    reply[at] = reply[at] - 1
    items[#items + 1] = { 's', key }
  end
end
if id ~= '' then
  expiresAt = expiry
  redis.call('SET', P .. 'h:' .. id, 'O' .. cmsgpack.pack({ owner, expiry, note, items }))
  redis.call('ZADD', P .. 'x', expiresAt, id)
end
if entryId ~= '' then journalAppend(entryId, entryData) end
return { 'a', expiresAt, reply }`,encode:({limits,hold,dryRun,journal})=>[dryRun?`1`:`0`,hold?.id??``,hold?.owner??``,hold?.leaseMs??``,hold?.note??``,journal?.maxLength??``,journal?.entry?.id??``,journal?.entry?.data??``,...limits.flatMap(encodeLimit)],decode:reply=>{const[outcome,expiresAt,states]=listOf(reply);const flat=listOf(states);const limits=[];for(let i=0;i<flat.length;i+=4)limits.push(decodeState(flat.slice(i,i+4)));return{outcome:known(OUTCOMES$2[textOf(outcome)]),limits,expiresAt:maybeNumber(expiresAt),retryAfterMs:longestWait(limits)}}};function known(outcome){if(outcome===void 0)throw new Error(`an admission came to what there is not`);return outcome}function encodeLimit(limit){switch(limit.kind){case`window`:return[...[`w`,limit.key,limit.limit,sliceLength(limit),limit.slices??120,limit.cost],...[limit.pool?.key??``,limit.pool?.most??``]];case`budget`:return[`b`,limit.key,limit.cap?.toString()??``,limit.amount.toString(),limit.keepUntil??``,...poolArguments(limit.pool)];case`slots`:return[`s`,limit.key,limit.limit,``,``,``,``,``]}}function decodeState([denied,remaining,retry,moved]){const text=textOf(remaining);const countedIn=textOf(moved);return{denied:textOf(denied)===`1`,remaining:text===``?void 0:BigInt(text),retryAfterMs:maybeNumber(retry),...countedIn===``?{}:{countedIn}}}const COMMON$1=`
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
`;const readCache={bytes:true,lua:`${COMMON$1}
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
return { value, int(age) }`,encode:({key,maxAgeMs})=>[key,maxAgeMs??``],decode:reply=>{const[value,age]=listOf(reply);return Buffer.isBuffer(value)?{value,ageMs:Number(textOf(age))}:void 0}};const writeCache={lua:`${COMMON$1}
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
return { '1', int(total + size), int(evicted) }`,encode:({key,value,ttlMs,maxBytes})=>[key,ttlMs,cachedSize(key,value),maxBytes,Buffer.from(value.buffer,value.byteOffset,value.byteLength)],decode:reply=>{const[kept,bytes,evicted]=listOf(reply).map(textOf);return{kept:kept===`1`,bytes:Number(bytes),evicted:Number(evicted)}}};const removeCache={lua:`${COMMON$1}
return drop(A(1)) and 1 or 0`,encode:({key})=>[key],decode:reply=>reply===1};const STATES={c:`closed`,o:`open`,h:`half_open`};const COMMON=`
local key, windowMs, need, percent = P .. 'k:' .. A(1), tonumber(A(2)), tonumber(A(3)), tonumber(A(4))
local openMs, probeMs, caller = tonumber(A(5)), tonumber(A(6)), A(7)
local w = math.ceil(windowMs / ${10})
local cur = math.floor(nowMs / w)
local all = {}
local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do all[flat[i]] = flat[i + 1] end
local failures, outcomes, stale = 0, 0, {}
for name, n in pairs(all) do
  local kind, slice = string.sub(name, 1, 1), tonumber(string.sub(name, 2))
  if slice then
    if slice < cur - ${10} then
      stale[#stale + 1] = name
    elseif kind == 'f' then
      failures = failures + n
    else
      outcomes = outcomes + n
    end
  end
end
local openUntil = tonumber(all.until_) or 0
local function state()
  if openUntil == 0 then return 'c' end
  if nowMs < openUntil then return 'o' end
  return 'h'
end
local function view() return { state(), int(failures), int(outcomes), int(openUntil) } end
local function keep() expire(key, windowMs * 2 + openMs + probeMs + 3600000) end
`;const allowCircuit={lua:`${COMMON}
local s = state()
local allowed, probe, retry = '1', '0', 0
if s == 'o' then
  allowed, retry = '0', openUntil - nowMs
elseif s == 'h' then
  local probeUntil = tonumber(all.probeUntil) or 0
  if all.probe and probeUntil > nowMs and all.probe ~= caller then
    allowed, retry = '0', probeUntil - nowMs
  else
    probe = '1'
    redis.call('HSET', key, 'probe', caller, 'probeUntil', int(nowMs + probeMs))
    keep()
  end
end
local reply = view()
reply[5], reply[6], reply[7] = allowed, probe, int(retry)
return reply`,encode:call=>[...encodeRules(call),call.caller],decode:reply=>{const[allowed,probe,retry]=listOf(reply).slice(4).map(textOf);return{...decodeCircuit(reply),allowed:allowed===`1`,probe:probe===`1`,retryAfterMs:Number(retry)}}};const reportCircuit={lua:`${COMMON}
local failed = A(8) == '1'
if openUntil > 0 then
  if state() == 'o' or all.probe ~= caller or tonumber(all.probeUntil) <= nowMs then return view() end
  redis.call('DEL', key)
  failures, outcomes, openUntil = 0, 0, 0
  if failed then
    openUntil = nowMs + openMs
    redis.call('HSET', key, 'until_', int(openUntil))
    keep()
  end
  return view()
end
if #stale > 0 then redis.call('HDEL', key, unpack(stale)) end
outcomes = outcomes + 1
redis.call('HINCRBY', key, 'o' .. int(cur), 1)
if failed then
  failures = failures + 1
  redis.call('HINCRBY', key, 'f' .. int(cur), 1)
  local many = failures >= need
  local share = outcomes >= tonumber(A(9)) and failures * 100 >= percent * outcomes
  if (many and share) or (A(10) == '1' and (many or share)) then
    openUntil = nowMs + openMs
    redis.call('HSET', key, 'until_', int(openUntil))
  end
end
keep()
return view()`,encode:report=>[...encodeRules(report),report.caller,report.failed?`1`:`0`,report.minimum??0,report.either?`1`:`0`],decode:decodeCircuit};const readCircuit={lua:`${COMMON}
return view()`,encode:rules=>[...encodeRules(rules),``],decode:decodeCircuit};function encodeRules(rules){return[rules.key,rules.windowMs,rules.failures,rules.percent??0,rules.openMs,rules.probeMs]}function decodeCircuit(reply){const[state=`c`,failures,outcomes,openUntil]=listOf(reply).map(textOf);return{state:STATES[state],failures:Number(failures),outcomes:Number(outcomes),openUntil:Number(openUntil)}}const OUTCOMES$1={r:`renewed`,l:`lost`,s:`settled`,u:`unknown`};const renew={lua:`
local owner, expiry = A(1), nowMs + tonumber(A(2))
local reply = {}
for i = 3, #ARGV - 1 do
  local id = A(i)
  local record = redis.call('GET', P .. 'h:' .. id)
  local outcome = 'u'
  if record and string.sub(record, 1, 1) == 'S' then
    outcome = 's'
  elseif record then
    local hold = cmsgpack.unpack(string.sub(record, 2))
    outcome = 'l'
    if hold[1] == owner then
      outcome = 'r'
      hold[2] = expiry
      redis.call('SET', P .. 'h:' .. id, 'O' .. cmsgpack.pack(hold))
      redis.call('ZADD', P .. 'x', int(expiry), id)
      for _, item in ipairs(hold[4]) do
        if item[1] == 's' then redis.call('ZADD', P .. 's:' .. item[2], int(expiry), id) end
      end
    end
  end
  reply[#reply + 1] = outcome
end
return reply`,encode:({owner,leaseMs,ids})=>[owner,leaseMs,...ids],decode:reply=>listOf(reply).map(outcome=>OUTCOMES$1[textOf(outcome)]??`unknown`)};const sweep={lua:`
local owner, expiry = A(1), nowMs + tonumber(A(2))
local reply = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'x', '-inf', int(nowMs), 'LIMIT', 0, tonumber(A(3)))) do
  local record = redis.call('GET', P .. 'h:' .. id)
  if record and string.sub(record, 1, 1) == 'O' then
    local hold = cmsgpack.unpack(string.sub(record, 2))
    local budgets, windows = {}, {}
    for _, item in ipairs(hold[4]) do
      if item[1] == 'b' then
        budgets[#budgets + 1], budgets[#budgets + 2] = item[2], item[3]
      elseif item[1] == 'w' then
        windows[#windows + 1], windows[#windows + 2] = item[2], int(item[6])
      end
    end
    reply[#reply + 1] = { id, hold[1], int(hold[2]), hold[3], budgets, windows }
    hold[1], hold[2] = owner, expiry
    redis.call('SET', P .. 'h:' .. id, 'O' .. cmsgpack.pack(hold))
    redis.call('ZADD', P .. 'x', int(expiry), id)
  else
    redis.call('ZREM', P .. 'x', id)
  end
end
return reply`,encode:({owner,leaseMs,max})=>[owner,leaseMs,max],decode:reply=>listOf(reply).map(row=>{const[id,owner,expiredAt,note,budgets,windows]=listOf(row);return{id:textOf(id),owner:textOf(owner),expiredAt:Number(textOf(expiredAt)),note:textOf(note),budgets:pairsOf(listOf(budgets).map(textOf),(key,amount)=>({key,amount:BigInt(amount)})),windows:pairsOf(listOf(windows).map(textOf),(key,cost)=>({key,cost:Number(cost)}))}})};const readBudget={lua:`${BUDGETS}
local name, v = placeBudget(A(1), A(2), A(3), A(4))
return { v[1] or '0', v[2] or '0', name == A(1) and '' or '1' }`,encode:({key,pool})=>[key,...poolArguments(pool)],decode:reply=>{const[spent,held,together]=listOf(reply);const state={spent:BigInt(textOf(spent)),held:BigInt(textOf(held))};return textOf(together)===``?state:{...state,together:true}}};const correctBudget={lua:`
local key = P .. 'b:' .. A(1)
local v = redis.call('HMGET', key, 's', 'h')
local spent, held = v[1] or '0', v[2] or '0'
if spent ~= A(2) then return { '0', spent, held } end
if A(4) ~= '' then
  local mark = P .. 'b:' .. A(4)
  if (redis.call('HGET', mark, 's') or '0') ~= A(5) then return { '0', spent, held } end
  redis.call('HSET', mark, 's', A(6), 'h', '0')
  expire(mark, ${MARK_MS})
end
redis.call('HSET', key, 's', A(3), 'h', held)
return { '1', A(3), held }`,encode:({key,from,to,mark})=>[...[key,from.toString(),to.toString()],...mark===void 0?[``]:[mark.key,mark.from.toString(),mark.to.toString()]],decode:reply=>{const[corrected,spent=`0`,held=`0`]=listOf(reply).map(textOf);return{corrected:corrected===`1`,spent:BigInt(spent),held:BigInt(held)}}};function pairsOf(flat,make){const made=[];for(let i=0;i<flat.length;i+=2)made.push(make(flat[i]??``,flat[i+1]??`0`));return made}function appendScript(rememberMs){return{lua:`${JOURNAL}
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
return { '1', int(repeated), int(size + #fresh) }`,encode:({entries,maxLength})=>[maxLength,...entries.flatMap(({id,data})=>[id,data])],decode:reply=>{const[accepted,repeated,size]=listOf(reply).map(textOf);return{accepted:accepted===`1`,repeated:Number(repeated),size:Number(size)}}}}const MOST_LOOKED=2e3;const claimJournal={lua:`
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
return reply`,encode:({consumer,leaseMs,max})=>[consumer,leaseMs,max],decode:reply=>{const flat=listOf(reply).map(textOf);return Array.from({length:flat.length/3},(_,i)=>({seq:flat[i*3]??``,id:flat[i*3+1]??``,data:flat[i*3+2]??``}))}};const acknowledgeJournal={lua:`
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
return int(done)`,encode:({consumer,seqs})=>[consumer,...seqs.map(seq=>String(Number(seq)))],decode:reply=>Number(textOf(reply))};const readJournal={lua:`
local first = redis.call('XRANGE', P .. 'j', '-', '+', 'COUNT', 1)[1]
local lag = first and math.max(0, nowMs - tonumber(first[2][4])) or 0
return { int(redis.call('XLEN', P .. 'j')), int(redis.call('ZCARD', P .. 'j:p')), int(lag) }`,encode:()=>[],decode:reply=>{const[size,claimed,lagMs]=listOf(reply).map(text=>Number(textOf(text)));return{size:size??0,claimed:claimed??0,lagMs:lagMs??0}}};const acquireLease={lua:`
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
return { '1', owner, token, expiry }`,encode:({key,owner,leaseMs})=>[key,owner,leaseMs],decode:reply=>{const[acquired,owner=``,token,expiresAt]=listOf(reply).map(textOf);return{acquired:acquired===`1`,owner,token:Number(token),expiresAt:Number(expiresAt)}}};const renewLease={lua:`
local key = P .. 'l:' .. A(1)
local v = redis.call('HMGET', key, 'o', 'e')
if v[1] ~= A(2) or tonumber(v[2]) <= nowMs then return 0 end
redis.call('HSET', key, 'e', int(nowMs + tonumber(A(3))))
expire(key, tonumber(A(3)) + 1000)
return 1`,encode:({key,owner,leaseMs})=>[key,owner,leaseMs],decode:reply=>reply===1};const releaseLease={lua:`
local key = P .. 'l:' .. A(1)
local v = redis.call('HMGET', key, 'o', 'e')
if v[1] ~= A(2) or tonumber(v[2]) <= nowMs then return 0 end
redis.call('DEL', key)
return 1`,encode:({key,owner})=>[key,owner],decode:reply=>reply===1};const CHANNEL=`sluice:notices`;function redisNotices(sender,receiver){const listeners=createListeners();let before=false;receiver.on(`ready`,()=>{receiver.subscribe(CHANNEL).then(()=>{if(before)listeners.tell({kind:`missed`});before=true},()=>void 0)});receiver.on(`message`,(channel,message)=>{const notice=channel===CHANNEL?parse(message):void 0;if(notice!==void 0)listeners.tell({kind:`changed`,notice})});return{publish:({organisationId,collection,id,version})=>sender.publish(CHANNEL,JSON.stringify([organisationId,collection,id,version])),subscribe:listeners.add}}function parse(message){try{const[organisationId,collection,id,version]=JSON.parse(message);if(typeof organisationId!==`string`||typeof collection!==`string`)return void 0;if(typeof id!==`string`||typeof version!==`number`)return void 0;return{organisationId,collection,id,version}}catch{return}}const OUTCOMES={s:`settled`,r:`repeated`,u:`unknown`,o:`orphan`};const UNNAMED={as_held:`h`,uncharged:`z`,refunded:`r`};function settleScript(rememberMs){return{lua:`${AMOUNTS}${BUDGETS}${WINDOWS}${JOURNAL}
local id, unnamed, orphan, entryId = A(1), A(2), A(3), A(4)
local hold = P .. 'h:' .. id
local record = redis.call('GET', hold)
if record and string.sub(record, 1, 1) == 'S' then return { 'r', {} } end
if not record and orphan ~= '1' then return { 'u', {} } end
local charges, costs, keeps, pools, order = {}, {}, {}, {}, {}
for i = 8, #ARGV - 1, 7 do
  local key = A(i + 1)
  if A(i) == 'b' then
    charges[key] = A(i + 2)
    keeps[key] = A(i + 3)
    pools[key] = { A(i + 4), A(i + 5), A(i + 6) }
    order[#order + 1] = key
  else
    costs[key] = tonumber(A(i + 2))
  end
end
local held = {}
if record then
  for _, item in ipairs(cmsgpack.unpack(string.sub(record, 2))[4]) do
    local kind, key = item[1], item[2]
    if kind == 'b' then
      held[key] = item[3]
      if not charges[key] then
        charges[key] = unnamed == 'h' and item[3] or '0'
        order[#order + 1] = key
      end
    elseif kind == 'w' then
      local w, S, slice, cost = item[3], item[4], item[5], item[6]
      local pool = item[7]
      local actual = costs[item[8] or key] or (unnamed == 'r' and 0) or cost
      local name = windowKey(int(w), int(S), key)
      if actual > cost then
        local st = look(name, w, S)
        take(st, actual - cost)
        if pool then joinPool(pool, key, st) end
      elseif actual < cost then
        give(name, S, slice, cost - actual)
      end
    else
      redis.call('ZREM', P .. 's:' .. key, id)
    end
  end
  redis.call('ZREM', P .. 'x', id)
end
local reply = {}
for _, key in ipairs(order) do
  local pool = pools[key] or { '', '', '' }
  local name, v, joins = placeBudget(key, pool[1], pool[2], pool[3])
  local budget = P .. 'b:' .. name
  if joins then joinBudgets(pool[1], keeps[key] or '') end
  local sh, sl = parse(v[1])
  local ch, cl = parse(charges[key])
  local hh, hl = parse(v[2])
  local spent = text(sum(sh, sl, ch, cl))
  local left = rest(hh, hl, parse(held[key]))
  if v[1] or v[2] or (keeps[key] or '') == '' then
    redis.call('HSET', budget, 's', spent, 'h', left)
  else
    keepBudget(budget, keeps[key], 's', spent, 'h', left)
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = name, charges[key], spent, left
end
if real then redis.call('SET', hold, 'S', 'PX', ${rememberMs}) else redis.call('SET', hold, 'S') end
local seq = ''
if entryId ~= '' then seq = journalAppend(entryId, A(5), A(6), A(7)) end
return { record and 's' or 'o', reply, seq }`,encode:({id,charges=[],costs=[],orphan,entry,unnamed})=>[id,UNNAMED[unnamed],orphan===`charge`?`1`:`0`,entry?.id??``,entry?.data??``,entry?.claim?.consumer??``,entry?.claim?.leaseMs??0,...charges.flatMap(({key,amount,keepUntil,pool})=>[...[`b`,key,amount.toString(),keepUntil??``],...poolArguments(pool)]),...costs.flatMap(({key,cost})=>[`w`,key,cost,``,``,``,``])],decode:reply=>{const[outcome,list,seq=``]=listOf(reply);const flat=listOf(list).map(textOf);const budgets=[];for(let i=0;i<flat.length;i+=4){const[key=``,charged=`0`,spent=`0`,held=`0`]=flat.slice(i,i+4);budgets.push({key,charged:BigInt(charged),spent:BigInt(spent),held:BigInt(held)})}const settled={outcome:OUTCOMES[textOf(outcome)]??`unknown`,budgets};return seq===``?settled:{...settled,seq:textOf(seq)}}}}const readValue={lua:`
local v = redis.call('HMGET', P .. 'v:' .. A(1), 'n', 'v')
return { v[1] or '0', v[2] and '1' or '0', v[2] or '' }`,encode:({key})=>[key],decode:reply=>{const[version,there,value]=listOf(reply).map(textOf);return{version:Number(version),value:there===`1`?value:void 0}}};const writeValue={lua:`
local key = P .. 'v:' .. A(1)
local v = redis.call('HMGET', key, 'n', 'v')
local version = v[1] or '0'
if version ~= A(2) then return { '0', version, v[2] and '1' or '0', v[2] or '' } end
version = int(tonumber(version) + 1)
redis.call('HSET', key, 'n', version)
if A(3) == '1' then redis.call('HSET', key, 'v', A(4)) else redis.call('HDEL', key, 'v') end
return { '1', version, A(3), A(4) }`,encode:({key,version,value})=>[key,version,value===void 0?`0`:`1`,value??``],decode:reply=>{const[written,version,there,value]=listOf(reply).map(textOf);return{written:written===`1`,version:Number(version),value:there===`1`?value:void 0}}};const VECTOR_COMMANDS=`
local function vadd(key, vector, id) return redis.pcall('VADD', key, 'FP32', vector, id, 'NOQUANT') end
local function vrem(key, id) return redis.pcall('VREM', key, id) end
-- a flat list of ids and scores, 1 for the same direction and 0 for the opposite
local function vsim(key, vector, count)
  return redis.pcall('VSIM', key, 'FP32', vector, 'WITHSCORES', 'COUNT', count, 'NOTHREAD')
end
`;const HEAD=VECTOR_COMMANDS+`
local function setOf(scope) return P .. 'v:s:' .. scope end
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end
local function unsupported(reply)
  return failed(reply) and (string.find(reply.err, 'nknown') or string.find(reply.err, 'NOPERM')) ~= nil
end
local function drop(name)
  local meta = redis.call('HGET', P .. 'v:m', name)
  if not meta then return false end
  redis.call('HDEL', P .. 'v:m', name)
  redis.call('ZREM', P .. 'v:o', name)
  redis.call('DECRBY', P .. 'v:t', string.match(meta, '(%d+)$'))
  local scope, id = string.match(name, '^([^:]+):(.*)$')
  vrem(setOf(scope), id)
  return true
end
`;const addVector={lua:`${HEAD}
local scope, id, vector = A(1), A(2), A(3)
local ttl, size, max, keep = tonumber(A(4)), tonumber(A(5)), tonumber(A(6)), tonumber(A(7))
local name = scope .. ':' .. id
if size > max then
  drop(name)
  return { 1, 0 }
end
-- first, so that a server without the command is left as it was
local added = vadd(setOf(scope), vector, id)
if unsupported(added) then return { 0, 0 } end
if failed(added) then
  drop(name)
  return { 1, 0 }
end
local old = redis.call('HGET', P .. 'v:m', name)
if old then redis.call('DECRBY', P .. 'v:t', string.match(old, '(%d+)$')) end
redis.call('HSET', P .. 'v:m', name, int(nowMs + ttl) .. ':' .. int(size))
redis.call('ZADD', P .. 'v:o', redis.call('INCR', P .. 'v:n'), name)
local total = redis.call('INCRBY', P .. 'v:t', int(size))
while total > max do
  local oldest = redis.call('ZRANGE', P .. 'v:o', 0, 0)[1]
  if not oldest or oldest == name then break end
  drop(oldest)
  total = tonumber(redis.call('GET', P .. 'v:t') or '0')
end
-- together, so that none outlives what it is counted in
for _, key in ipairs({ 'v:m', 'v:o', 'v:t', 'v:n' }) do expire(P .. key, keep) end
expire(setOf(scope), keep)
return { 1, 1 }`,encode:request=>[request.scope,request.id,blobOf(request.vector),request.ttlMs,vectorSize(request),request.maxBytes,KEPT_MS],decode:reply=>{const[supported,kept]=listOf(reply);return{supported:supported===1,kept:kept===1}}};const nearVectors={lua:`${HEAD}
local scope, most = A(1), tonumber(A(3))
local near = vsim(setOf(scope), A(2), most * 2)
if unsupported(near) then return { 0 } end
local reply = { 1 }
if failed(near) or type(near) ~= 'table' then return reply end
for i = 1, #near, 2 do
  local name = scope .. ':' .. near[i]
  local meta = redis.call('HGET', P .. 'v:m', name)
  if meta and tonumber(string.match(meta, '^(%d+)')) > nowMs then
    if #reply < most * 2 then
      reply[#reply + 1] = near[i]
      reply[#reply + 1] = tostring(near[i + 1])
    end
  elseif not drop(name) then
    vrem(setOf(scope), near[i])
  end
end
return reply`,encode:({scope,vector,most})=>[scope,blobOf(vector),most],decode:reply=>{const[supported,...flat]=listOf(reply);const found=[];for(let i=0;i+1<flat.length;i+=2)found.push({id:textOf(flat[i]),similarity:Number(textOf(flat[i+1]))*2-1});return{supported:supported===1,found}}};const removeVector={lua:`${HEAD}
return drop(A(1) .. ':' .. A(2)) and 1 or 0`,encode:({scope,id})=>[scope,id],decode:reply=>reply===1};const KEPT_MS=3456e7;function blobOf(vector){const blob=Buffer.alloc(vector.length*4);for(const[i,value]of vector.entries())blob.writeFloatLE(value,i*4);return blob}const REMEMBER_MS=9e5;function openRedisState(options){const{url,deadlineMs=1e3,maxQueued=1e4,rememberMs=REMEMBER_MS,testClock}=options;const client=connect(url,`sluice`,deadlineMs);const receiver=connect(url,`sluice-notices`,deadlineMs);const notices=redisNotices(client,receiver);const{run,within}=scriptRunner(client,scriptSet(rememberMs),{deadlineMs,maxQueued,...testClock?{testClock}:{}});let closed=false;return sharedStateOver((...call)=>closed?Promise.reject(fail(`store_unavailable`,`the shared store is closed`)):run(...call),{publish:async(notice,call)=>{checkNotice(notice);await within(()=>notices.publish(notice),call?.deadlineMs)},subscribe:notices.subscribe,ready:async()=>{await within(()=>ping(client))},close:async()=>{closed=true;client.disconnect();receiver.disconnect()}})}function scriptSet(rememberMs){return{admit,settle:settleScript(rememberMs),renew,sweep,readBudget,correctBudget,appendJournal:appendScript(rememberMs),claimJournal,acknowledgeJournal,readJournal,acquireLease,renewLease,releaseLease,readValue,writeValue,allowCircuit,reportCircuit,readCircuit,readCache,writeCache,removeCache,addVector,nearVectors,removeVector}}export{openRedisState};