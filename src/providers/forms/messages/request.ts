// A request of the Messages API in the chat form. What the wire cannot carry is left out and named.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { arrayOf, given, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import type { AsChat } from '../form.ts';
import { conversation } from './conversation.ts';
import { effortOf, isThinker } from './effort.ts';
import { Lost } from './lost.ts';
import { toolMembers } from './tools.ts';
import { userOf } from './user.ts';

/** Members that are read here; of any other member of the request only Anthropic's own wires know. */
const READ: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'system', 'metadata', 'stop_sequences', 'stream', 'temperature'],
  ...['top_p', 'top_k', 'tools', 'tool_choice', 'thinking', 'service_tier', 'output_config', 'output_format'],
]);

/** The request in the chat form. @param body the request's JSON; not changed @param provider that is asked */
export function chatRequest(body: JsonObject, carries: Carries, stream: boolean, provider: string): AsChat {
  if (isObject(body.thread)) throw withoutThreads(provider);
  const lost = new Lost();
  const chat: JsonObject = {
    model: body.model ?? '',
    messages: conversation(body, { carries, provider }, lost),
    ...toolMembers(body, carries, lost),
    ...sampling(body, carries, lost),
    ...thinkingMembers(body, carries, lost),
    ...formatMember(body, lost),
    ...callerMembers(body, carries, lost),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  for (const [name, value] of Object.entries(body)) {
    if (READ.has(name) || value === null || name === '__proto__') continue;
    if (carries.own) chat[name] = value;
    else lost.add(name);
  }
  return { chat, lost: lost.names };
}

/** Leaving it out would lose the turns before: clients send all of them when they read these details. */
function withoutThreads(provider: string): GatewayError {
  return fail('validation_failed', `thread: ${provider} holds no conversations: send all messages`, {
    param: 'thread',
    ownDetails: { error_code: 'thread_unsupported_request', unsupported: ['provider'] },
  });
}

function sampling(body: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const { max_tokens: bound, temperature, top_p: topP, top_k: topK, stop_sequences: stops } = body;
  const members: JsonObject = {};
  // Fills Anthropic's cache and makes nothing: no other wire has it.
  if (bound === 0 && !carries.own) lost.add('max_tokens');
  else if (typeof bound === 'number') members[carries.bound] = bound;
  if (typeof temperature === 'number') members.temperature = temperature;
  if (typeof topP === 'number') members.top_p = topP;
  if (typeof topK === 'number') {
    if (carries.topK) members.top_k = topK;
    else lost.add('top_k');
  }
  const sequences = arrayOf(stops).filter((stop) => typeof stop === 'string');
  if (sequences.length > carries.stops) lost.add(`stop_sequences[${carries.stops}]`);
  if (sequences.length > 0) members.stop = sequences.slice(0, carries.stops);
  return members;
}

function thinkingMembers(body: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const thinking = objectOf(body.thinking);
  const { effort: asked, format: _format, ...config } = objectOf(body.output_config) ?? {};
  const effort = textOf(asked);
  if (carries.own) {
    const own = given({ ...config, ...(effort === undefined ? {} : { effort }) });
    return { ...(thinking ? { thinking } : {}), ...(own ? { output_config: own } : {}) };
  }
  for (const name of Object.keys(config)) lost.add(`output_config.${name}`);
  switch (carries.thinking) {
    case 'member':
      if (thinking === undefined) return effort === undefined ? {} : { reasoning_effort: effortOf(effort) };
      if (thinking.type === 'adaptive') return { reasoning_effort: effortOf(effort ?? 'high') };
      return { thinking };
    case 'effort':
      if (isThinker(textOf(body.model) ?? '')) {
        const word = thinking?.type === 'disabled' ? undefined : effortOf(effort, thinking);
        return word === undefined ? {} : { reasoning_effort: word };
      }
      break;
    default:
  }
  if (thinking !== undefined && thinking.type !== 'disabled') lost.add('thinking');
  if (effort !== undefined) lost.add('output_config.effort');
  return {};
}

/** Structured output; `output_format` is its name before `output_config`. */
function formatMember(body: JsonObject, lost: Lost): JsonObject {
  const format = objectOf(objectOf(body.output_config)?.format) ?? objectOf(body.output_format);
  if (format === undefined) return {};
  const { type, schema, name } = format;
  if (type !== 'json_schema' || !isObject(schema)) {
    lost.add('output_config.format');
    return {};
  }
  const jsonSchema = { name: textOf(name) ?? 'output', schema, strict: true };
  return { response_format: { type: 'json_schema', json_schema: jsonSchema } };
}

const TIERS: Readonly<Record<string, string>> = Object.freeze({ auto: 'auto', standard_only: 'default' });

function callerMembers(body: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const members: JsonObject = {};
  const { user_id: user, ...others } = objectOf(body.metadata) ?? {};
  if (typeof user === 'string' && user !== '') members.user = carries.own ? user : userOf(user);
  for (const name of Object.keys(others)) lost.add(`metadata.${name}`);
  const tier: JsonValue | undefined = body.service_tier;
  if (typeof tier !== 'string') return members;
  if (carries.own) members.service_tier = tier === 'standard_only' ? 'default' : tier;
  else if (carries.tiers) members.service_tier = Object.hasOwn(TIERS, tier) ? TIERS[tier]! : tier;
  else if (tier !== 'auto') lost.add('service_tier');
  return members;
}
