// Rows of shared state written into Redis as they are, and read back: Lua next to the scripts that use it.
import type { StateRow } from '../state-transfer.ts';
import { BUDGETS, listOf, type Reply, textOf } from './script.ts';

const COMMON = `
local function padded(seq) return string.format('%015.0f', tonumber(seq)) end
local function lastSeq()
  if redis.call('EXISTS', P .. 'j') == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', P .. 'j')
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return tonumber(string.match(info[i + 1], '-(%d+)$')) end
  end
end
`;

/**
 * After the clock: `1` to write, then rows as JSON. Answers a letter for each: `w` written (or free), `p` present,
 * `d` another is there.
 */
export const WRITE_ROWS = `${COMMON}${BUDGETS}
local write = A(1) == '1'
local function judge(free, same) return free and 'w' or (same and 'p' or 'd') end
local put = {}
function put.budget(r)
  local key = P .. 'b:' .. r[2]
  local v = redis.call('HMGET', key, 's', 'h', 'u')
  local free = not v[1] and not v[2]
  local keep = r[5] == 0 and '' or int(r[5])
  if free and write then keepBudget(key, keep, 's', r[3], 'h', r[4]) end
  return judge(free, (v[1] or '0') == r[3] and (v[2] or '0') == r[4] and (v[3] or '') == keep)
end
function put.hold(r)
  local key, record = P .. 'h:' .. r[2], 'O' .. cmsgpack.pack({ r[3], r[4], r[5], r[6] })
  local there = redis.call('GET', key)
  if not there and write then
    redis.call('SET', key, record)
    redis.call('ZADD', P .. 'x', int(r[4]), r[2])
  end
  return judge(not there, there == record)
end
local function mark(key, value, forgetAt)
  local there = redis.call('GET', key)
  if not there and write then redis.call('SET', key, value, 'PXAT', int(forgetAt)) end
  return judge(not there, there == value and redis.call('PEXPIRETIME', key) == forgetAt)
end
function put.settled(r) return mark(P .. 'h:' .. r[2], 'S', r[3]) end
function put.journal_id(r) return mark(P .. 'j:e:' .. r[2], '', r[3]) end
function put.slot(r)
  local there = redis.call('ZSCORE', P .. 's:' .. r[2], r[3])
  if not there and write then redis.call('ZADD', P .. 's:' .. r[2], int(r[4]), r[3]) end
  return judge(not there, there and tonumber(there) == r[4])
end
function put.journal(r)
  local seq, consumer, untilMs = int(r[2]), r[6], r[7]
  local found = redis.call('XRANGE', P .. 'j', '0-' .. seq, '0-' .. seq)[1]
  if found then
    local f = found[2]
    local owner = redis.call('HGET', P .. 'j:o', seq) or ''
    local lease = tonumber(redis.call('ZSCORE', P .. 'j:p', padded(seq)) or nil) or 0
    return judge(false, f[2] == r[3] and tonumber(f[4]) == r[4] and f[6] == r[5] and owner == consumer and lease == untilMs)
  end
  -- a stream takes no number below its last
  if lastSeq() >= r[2] then return 'd' end
  if write then
    redis.call('XADD', P .. 'j', '0-' .. seq, 'i', r[3], 't', int(r[4]), 'd', r[5])
    if untilMs > 0 then
      redis.call('ZADD', P .. 'j:p', int(untilMs), padded(seq))
      redis.call('HSET', P .. 'j:o', seq, consumer)
    end
  end
  return 'w'
end
function put.journal_head(r)
  local v = redis.call('HMGET', P .. 'j:m', 'tail', 'claimed')
  local free = not v[1] and not v[2]
  if free and write then redis.call('HSET', P .. 'j:m', 'tail', int(r[2]), 'claimed', int(r[3])) end
  return judge(free, tonumber(v[1] or '0') == r[2] and tonumber(v[2] or '0') == r[3])
end
function put.value(r)
  local key = P .. 'v:' .. r[2]
  local v = redis.call('HMGET', key, 'n', 'v')
  if not v[1] and write then
    redis.call('HSET', key, 'n', int(r[3]))
    if r[4] == '1' then redis.call('HSET', key, 'v', r[5]) end
  end
  return judge(not v[1], tonumber(v[1] or '0') == r[3] and (v[2] and '1' or '0') == r[4] and (v[2] or '') == r[5])
end
local reply = {}
for i = 2, #ARGV - 1 do
  local row = cjson.decode(A(i))
  reply[#reply + 1] = put[row[1]](row)
end
return reply`;

/** A row as `WRITE_ROWS` takes it: what is absent is an empty text or 0. */
export function encodeRow(row: StateRow): string {
  switch (row.kind) {
    case 'budget':
      return JSON.stringify([row.kind, row.key, row.spent, row.held, row.keepUntil ?? 0]);
    case 'hold':
      return JSON.stringify([row.kind, row.id, row.owner, row.expiresAt, row.note, row.items]);
    case 'settled':
    case 'journal_id':
      return JSON.stringify([row.kind, row.id, row.forgetAt]);
    case 'slot':
      return JSON.stringify([row.kind, row.key, row.id, row.expiresAt]);
    case 'journal': {
      const { kind, seq, id, madeAt, data, claim } = row;
      return JSON.stringify([kind, seq, id, madeAt, data, claim?.consumer ?? '', claim?.until ?? 0]);
    }
    case 'journal_head':
      return JSON.stringify([row.kind, row.tail, row.claimedTo]);
    case 'value':
      return JSON.stringify([
        row.kind,
        row.key,
        row.version,
        row.value === undefined ? '0' : '1',
        row.value ?? '',
      ]);
  }
}

/** What a key of an organisation holds: the first letters after its prefix. */
export const READABLE = ['b', 'h', 's', 'v', 'j:e', 'j'] as const;
export type Readable = (typeof READABLE)[number];

/** After the clock: what the keys hold, then their names without the prefix. Answers flat texts for each. */
export const READ_ROWS = `${COMMON}
local kind, reply = A(1), {}
for i = 2, #ARGV - 1 do
  local name = A(i)
  local key, row = P .. kind .. ':' .. name, {}
  if kind == 'b' then
    local v = redis.call('HMGET', key, 's', 'h', 'u')
    if v[1] or v[2] then row = { name, v[1] or '0', v[2] or '0', v[3] or '' } end
  elseif kind == 'v' then
    local v = redis.call('HMGET', key, 'n', 'v')
    if v[1] then row = { name, v[1], v[2] and '1' or '0', v[2] or '' } end
  elseif kind == 's' then
    row = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    table.insert(row, 1, name)
  elseif kind == 'j:e' then
    local ends = redis.call('PEXPIRETIME', key)
    if ends ~= -2 then row = { name, int(ends) } end
  else
    local record = redis.call('GET', key)
    if record and string.sub(record, 1, 1) == 'S' then
      row = { name, 'S', int(redis.call('PEXPIRETIME', key)) }
    elseif record then
      local hold = cmsgpack.unpack(string.sub(record, 2))
      row = { name, 'O', hold[1], int(hold[2]), hold[3] }
      for _, item in ipairs(hold[4]) do
        if item[1] == 'w' and item[7] then item[1] = 'W' end
        for _, part in ipairs(item) do row[#row + 1] = type(part) == 'number' and int(part) or part end
      end
    end
  end
  reply[#reply + 1] = row
end
return reply`;

/** Arguments after the clock: the number after which to read, and how many. Returns entries and, last, the head. */
export const READ_JOURNAL = `${COMMON}
local reply = {}
for _, entry in ipairs(redis.call('XRANGE', P .. 'j', '(0-' .. A(1), '+', 'COUNT', A(2))) do
  local seq, f = string.sub(entry[1], 3), entry[2]
  local lease = redis.call('ZSCORE', P .. 'j:p', padded(seq))
  reply[#reply + 1] = { seq, f[2], f[4], f[6], redis.call('HGET', P .. 'j:o', seq) or '', lease and int(tonumber(lease)) or '' }
end
local v = redis.call('HMGET', P .. 'j:m', 'tail', 'claimed')
return { reply, v[1] or '', v[2] or '0' }`;

/** The rows that a key holds. */
export function decodeRows(org: string, kind: Exclude<Readable, 'j'>, reply: Reply): StateRow[] {
  const [name = '', ...rest] = listOf(reply).map(textOf);
  if (rest.length === 0) return [];
  const [first = '', second = '', third = ''] = rest;
  switch (kind) {
    case 'b':
      return [
        {
          kind: 'budget',
          org,
          key: name,
          spent: first,
          held: second,
          ...(third === '' ? {} : { keepUntil: Number(third) }),
        },
      ];
    case 'v':
      return [
        {
          kind: 'value',
          org,
          key: name,
          version: Number(first),
          ...(second === '1' ? { value: rest[2] ?? '' } : {}),
        },
      ];
    case 's':
      return pairs(rest).map(([id, score]) => ({
        kind: 'slot',
        org,
        key: name,
        id,
        expiresAt: Number(score),
      }));
    case 'j:e':
      return [{ kind: 'journal_id', org, id: name, forgetAt: Number(first) }];
    case 'h':
      return [decodeHold(org, name, rest)];
  }
}

function decodeHold(org: string, id: string, [state, ...rest]: readonly string[]): StateRow {
  if (state === 'S') return { kind: 'settled', org, id, forgetAt: Number(rest[0]) };
  const [owner = '', expiresAt, note = '', ...flat] = rest;
  const items: (StateRow & { kind: 'hold' })['items'][number][] = [];
  for (let i = 0; i < flat.length; ) {
    const [letter, key = ''] = flat.slice(i, i + 2);
    const more = flat.slice(i + 2, i + 8);
    if (letter === 'W') {
      const [length = 0, slices = 0, slice = 0, cost = 0] = more.slice(0, 4).map(Number);
      items.push(['w', key, length, slices, slice, cost, more[4] ?? '', more[5] ?? '']);
      i += 8;
    } else if (letter === 'w') {
      const [length = 0, slices = 0, slice = 0, cost = 0] = more.map(Number);
      items.push(['w', key, length, slices, slice, cost]);
      i += 6;
    } else if (letter === 'b') {
      items.push(['b', key, more[0] ?? '0']);
      i += 3;
    } else {
      items.push(['s', key]);
      i += 2;
    }
  }
  return { kind: 'hold', org, id, owner, expiresAt: Number(expiresAt), note, items };
}

function pairs(flat: readonly string[]): [string, string][] {
  const made: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) made.push([flat[i] ?? '', flat[i + 1] ?? '0']);
  return made;
}
