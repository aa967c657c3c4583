// admit in Lua: looks at every limit without writing, then takes all of them or none.
import {
  type Admission,
  type AdmitRequest,
  type Limit,
  type LimitState,
  longestWait,
  sliceLength,
} from '../shared/admit.ts';
import { SLICES } from '../shared/bounds.ts';
import {
  AMOUNTS,
  type Argument,
  BUDGETS,
  JOURNAL,
  listOf,
  maybeNumber,
  poolArguments,
  type RedisScript,
  type Reply,
  textOf,
  WINDOWS,
} from './script.ts';

const OUTCOMES: Readonly<Record<string, Admission['outcome']>> = {
  a: 'admitted',
  f: 'fits',
  d: 'denied',
  r: 'repeated',
  s: 'settled',
  j: 'journal_full',
};
/** Arguments of one limit. */
const EACH = 8;

export const admit: RedisScript<'admit'> = {
  lua: `${AMOUNTS}${BUDGETS}${WINDOWS}${JOURNAL}
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
return { 'a', expiresAt, reply }`,

  encode: ({ limits, hold, dryRun, journal }: AdmitRequest) => [
    dryRun ? '1' : '0',
    hold?.id ?? '',
    hold?.owner ?? '',
    hold?.leaseMs ?? '',
    hold?.note ?? '',
    journal?.maxLength ?? '',
    journal?.entry?.id ?? '',
    journal?.entry?.data ?? '',
    ...limits.flatMap(encodeLimit),
  ],

  decode: (reply) => {
    const [outcome, expiresAt, states] = listOf(reply);
    const flat = listOf(states);
    const limits: LimitState[] = [];
    for (let i = 0; i < flat.length; i += 4) limits.push(decodeState(flat.slice(i, i + 4)));
    return {
      outcome: known(OUTCOMES[textOf(outcome)]),
      limits,
      expiresAt: maybeNumber(expiresAt),
      retryAfterMs: longestWait(limits),
    };
  },
};

function known(outcome: Admission['outcome'] | undefined): Admission['outcome'] {
  if (outcome === undefined) throw new Error('an admission came to what there is not');
  return outcome;
}

function encodeLimit(limit: Limit): Argument[] {
  switch (limit.kind) {
    case 'window':
      return [
        ...['w', limit.key, limit.limit, sliceLength(limit), limit.slices ?? SLICES, limit.cost],
        ...[limit.pool?.key ?? '', limit.pool?.most ?? ''],
      ];
    case 'budget':
      return [
        'b',
        limit.key,
        limit.cap?.toString() ?? '',
        limit.amount.toString(),
        limit.keepUntil ?? '',
        ...poolArguments(limit.pool),
      ];
    case 'slots':
      return ['s', limit.key, limit.limit, '', '', '', '', ''];
  }
}

function decodeState([denied, remaining, retry, moved]: readonly Reply[]): LimitState {
  const text = textOf(remaining);
  const countedIn = textOf(moved);
  return {
    denied: textOf(denied) === '1',
    remaining: text === '' ? undefined : BigInt(text),
    retryAfterMs: maybeNumber(retry),
    ...(countedIn === '' ? {} : { countedIn }),
  };
}
