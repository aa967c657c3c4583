// settle in Lua: the hold's record becomes a mark that it was settled, kept for as long as repeats may come.
import type { ChargedBudget, Settlement } from '../shared/settle.ts';
import {
  AMOUNTS,
  BUDGETS,
  JOURNAL,
  listOf,
  poolArguments,
  type RedisScript,
  textOf,
  WINDOWS,
} from './script.ts';

const OUTCOMES: Readonly<Record<string, Settlement['outcome']>> = {
  s: 'settled',
  r: 'repeated',
  u: 'unknown',
  o: 'orphan',
};
const UNNAMED = { as_held: 'h', uncharged: 'z', refunded: 'r' } as const;

/** `rememberMs`: how long a settled id is known. */
export function settleScript(rememberMs: number): RedisScript<'settle'> {
  return {
    lua: `${AMOUNTS}${BUDGETS}${WINDOWS}${JOURNAL}
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
return { record and 's' or 'o', reply, seq }`,

    encode: ({ id, charges = [], costs = [], orphan, entry, unnamed }) => [
      id,
      UNNAMED[unnamed],
      orphan === 'charge' ? '1' : '0',
      entry?.id ?? '',
      entry?.data ?? '',
      entry?.claim?.consumer ?? '',
      entry?.claim?.leaseMs ?? 0,
      ...charges.flatMap(({ key, amount, keepUntil, pool }) => [
        ...['b', key, amount.toString(), keepUntil ?? ''],
        ...poolArguments(pool),
      ]),
      ...costs.flatMap(({ key, cost }) => ['w', key, cost, '', '', '', '']),
    ],

    decode: (reply) => {
      const [outcome, list, seq = ''] = listOf(reply);
      const flat = listOf(list).map(textOf);
      const budgets: ChargedBudget[] = [];
      for (let i = 0; i < flat.length; i += 4) {
        const [key = '', charged = '0', spent = '0', held = '0'] = flat.slice(i, i + 4);
        budgets.push({ key, charged: BigInt(charged), spent: BigInt(spent), held: BigInt(held) });
      }
      const settled = { outcome: OUTCOMES[textOf(outcome)] ?? 'unknown', budgets };
      return seq === '' ? settled : { ...settled, seq: textOf(seq) };
    },
  };
}
