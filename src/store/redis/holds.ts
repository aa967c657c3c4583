// renew, sweep, readBudget and correctBudget in Lua.
import { MARK_MS, type RenewOutcome, type SweptHold } from '../shared/holds.ts';
import { BUDGETS, listOf, poolArguments, type RedisScript, textOf } from './script.ts';

const OUTCOMES: Readonly<Record<string, RenewOutcome>> = {
  r: 'renewed',
  l: 'lost',
  s: 'settled',
  u: 'unknown',
};

export const renew: RedisScript<'renew'> = {
  lua: `
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
return reply`,
  encode: ({ owner, leaseMs, ids }) => [owner, leaseMs, ...ids],
  decode: (reply) => listOf(reply).map((outcome) => OUTCOMES[textOf(outcome)] ?? 'unknown'),
};

/** The slots of a swept hold stay free: its call is not in flight any more. */
export const sweep: RedisScript<'sweep'> = {
  lua: `
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
return reply`,
  encode: ({ owner, leaseMs, max }) => [owner, leaseMs, max],
  decode: (reply) =>
    listOf(reply).map((row): SweptHold => {
      const [id, owner, expiredAt, note, budgets, windows] = listOf(row);
      return {
        id: textOf(id),
        owner: textOf(owner),
        expiredAt: Number(textOf(expiredAt)),
        note: textOf(note),
        budgets: pairsOf(listOf(budgets).map(textOf), (key, amount) => ({ key, amount: BigInt(amount) })),
        windows: pairsOf(listOf(windows).map(textOf), (key, cost) => ({ key, cost: Number(cost) })),
      };
    }),
};

export const readBudget: RedisScript<'readBudget'> = {
  lua: `${BUDGETS}
local name, v = placeBudget(A(1), A(2), A(3), A(4))
return { v[1] or '0', v[2] or '0', name == A(1) and '' or '1' }`,
  encode: ({ key, pool }) => [key, ...poolArguments(pool)],
  decode: (reply) => {
    const [spent, held, together] = listOf(reply);
    const state = { spent: BigInt(textOf(spent)), held: BigInt(textOf(held)) };
    return textOf(together) === '' ? state : { ...state, together: true };
  },
};

export const correctBudget: RedisScript<'correctBudget'> = {
  lua: `
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
return { '1', A(3), held }`,
  encode: ({ key, from, to, mark }) => [
    ...[key, from.toString(), to.toString()],
    ...(mark === undefined ? [''] : [mark.key, mark.from.toString(), mark.to.toString()]),
  ],
  decode: (reply) => {
    const [corrected, spent = '0', held = '0'] = listOf(reply).map(textOf);
    return { corrected: corrected === '1', spent: BigInt(spent), held: BigInt(held) };
  },
};

function pairsOf<T>(flat: readonly string[], make: (key: string, value: string) => T): T[] {
  const made: T[] = [];
  for (let i = 0; i < flat.length; i += 2) made.push(make(flat[i] ?? '', flat[i + 1] ?? '0'));
  return made;
}
