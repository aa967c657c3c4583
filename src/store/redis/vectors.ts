// Vectors in Lua over Redis's vector sets (Redis 8: VADD, VSIM, VREM): one set per scope; over all scopes a sorted
// set knows the order of coming, a hash until when each lives and what it counts for. Where the server has no such
// commands every script says so and writes nothing.
import { vectorSize } from '../shared/vectors.ts';
import { listOf, type RedisScript, textOf } from './script.ts';

/** The server's commands, each with its reply or a table with `err`. */
export const VECTOR_COMMANDS = `
local function vadd(key, vector, id) return redis.pcall('VADD', key, 'FP32', vector, id, 'NOQUANT') end
local function vrem(key, id) return redis.pcall('VREM', key, id) end
-- a flat list of ids and scores, 1 for the same direction and 0 for the opposite
local function vsim(key, vector, count)
  return redis.pcall('VSIM', key, 'FP32', vector, 'WITHSCORES', 'COUNT', count, 'NOTHREAD')
end
`;

const COMMON = `
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
`;

const HEAD = VECTOR_COMMANDS + COMMON;

export const addVector: RedisScript<'addVector'> = {
  lua: `${HEAD}
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
return { 1, 1 }`,
  encode: (request) => [
    request.scope,
    request.id,
    blobOf(request.vector),
    request.ttlMs,
    vectorSize(request),
    request.maxBytes,
    KEPT_MS,
  ],
  decode: (reply) => {
    const [supported, kept] = listOf(reply);
    return { supported: supported === 1, kept: kept === 1 };
  },
};

export const nearVectors: RedisScript<'nearVectors'> = {
  lua: `${HEAD}
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
return reply`,
  encode: ({ scope, vector, most }) => [scope, blobOf(vector), most],
  decode: (reply) => {
    const [supported, ...flat] = listOf(reply);
    const found = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      found.push({ id: textOf(flat[i]), similarity: Number(textOf(flat[i + 1])) * 2 - 1 });
    }
    return { supported: supported === 1, found };
  },
};

export const removeVector: RedisScript<'removeVector'> = {
  lua: `${HEAD}
return drop(A(1) .. ':' .. A(2)) and 1 or 0`,
  encode: ({ scope, id }) => [scope, id],
  decode: (reply) => reply === 1,
};

/** Vectors of an organisation that adds none for so long leave Redis by themselves: longer than any lives. */
const KEPT_MS = 400 * 86_400_000;

/** 32-bit numbers, little-endian, as VADD takes them. */
function blobOf(vector: Float32Array): Buffer {
  const blob = Buffer.alloc(vector.length * 4);
  for (const [i, value] of vector.entries()) blob.writeFloatLE(value, i * 4);
  return blob;
}
