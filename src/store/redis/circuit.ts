// Circuits in Lua: a hash with counts by slice (f… and o…), the end of the open time and the probe.
import { CIRCUIT_SLICES, type CircuitRules } from '../shared/circuit.ts';
import { type Argument, listOf, type RedisScript, type Reply, textOf } from './script.ts';

const STATES = { c: 'closed', o: 'open', h: 'half_open' } as const;

const COMMON = `
local key, windowMs, need, percent = P .. 'k:' .. A(1), tonumber(A(2)), tonumber(A(3)), tonumber(A(4))
local openMs, probeMs, caller = tonumber(A(5)), tonumber(A(6)), A(7)
local w = math.ceil(windowMs / ${CIRCUIT_SLICES})
local cur = math.floor(nowMs / w)
local all = {}
local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do all[flat[i]] = flat[i + 1] end
local failures, outcomes, stale = 0, 0, {}
for name, n in pairs(all) do
  local kind, slice = string.sub(name, 1, 1), tonumber(string.sub(name, 2))
  if slice then
    if slice < cur - ${CIRCUIT_SLICES} then
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
`;

export const allowCircuit: RedisScript<'allowCircuit'> = {
  lua: `${COMMON}
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
return reply`,
  encode: (call) => [...encodeRules(call), call.caller],
  decode: (reply) => {
    const [allowed, probe, retry] = listOf(reply).slice(4).map(textOf);
    return {
      ...decodeCircuit(reply),
      allowed: allowed === '1',
      probe: probe === '1',
      retryAfterMs: Number(retry),
    };
  },
};

export const reportCircuit: RedisScript<'reportCircuit'> = {
  lua: `${COMMON}
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
return view()`,
  encode: (report) => [
    ...encodeRules(report),
    report.caller,
    report.failed ? '1' : '0',
    report.minimum ?? 0,
    report.either ? '1' : '0',
  ],
  decode: decodeCircuit,
};

export const readCircuit: RedisScript<'readCircuit'> = {
  lua: `${COMMON}
return view()`,
  encode: (rules) => [...encodeRules(rules), ''],
  decode: decodeCircuit,
};

function encodeRules(rules: CircuitRules): Argument[] {
  return [rules.key, rules.windowMs, rules.failures, rules.percent ?? 0, rules.openMs, rules.probeMs];
}

function decodeCircuit(reply: Reply) {
  const [state = 'c', failures, outcomes, openUntil] = listOf(reply).map(textOf);
  return {
    state: STATES[state as keyof typeof STATES],
    failures: Number(failures),
    outcomes: Number(outcomes),
    openUntil: Number(openUntil),
  };
}
