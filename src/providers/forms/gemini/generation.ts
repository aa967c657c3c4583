// generationConfig in the members of chat.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import { isThinker } from '../messages/effort.ts';
import type { Lost } from '../messages/lost.ts';
import { jsonSchema } from './schema.ts';

/** Members that are read here; others are Google's own. */
const READ: ReadonlySet<string> = new Set([
  ...['temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'presencePenalty'],
  ...[
    'frequencyPenalty',
    'seed',
    'responseMimeType',
    'responseSchema',
    'responseJsonSchema',
    'responseLogprobs',
  ],
  ...['logprobs', 'thinkingConfig', 'responseModalities'],
]);
/** Tokens to think with at the least, where a budget is told (Anthropic, "Extended thinking"). */
const LEAST_BUDGET = 1024;

/** The members. @param body the request's JSON */
export function generationMembers(body: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const config = objectOf(body.generationConfig) ?? {};
  const name = (member: string): string => `generationConfig.${member}`;
  for (const [member, value] of Object.entries(config))
    if (!READ.has(member) && value !== null) lost.add(name(member));
  const out: JsonObject = {};
  const take = (member: string, ours: string, carried = true): void => {
    const value = config[member];
    if (value === undefined || value === null) return;
    if (carried) out[ours] = value;
    else lost.add(name(member));
  };
  take('temperature', 'temperature');
  take('topP', 'top_p');
  take('topK', 'top_k', carries.topK);
  take('maxOutputTokens', carries.bound);
  take('seed', 'seed');
  take('presencePenalty', 'presence_penalty', carries.penalties);
  take('frequencyPenalty', 'frequency_penalty', carries.penalties);
  if (config.candidateCount !== 1) take('candidateCount', 'n', carries.choices);
  if (config.responseLogprobs === true) {
    take('responseLogprobs', 'logprobs', carries.choices);
    take('logprobs', 'top_logprobs', carries.choices);
  }
  if (arrayOf(config.responseModalities).some((kind) => String(kind).toUpperCase() !== 'TEXT'))
    lost.add(name('responseModalities'));
  const stops = arrayOf(config.stopSequences).filter((stop) => typeof stop === 'string');
  if (stops.length > carries.stops) lost.add(name(`stopSequences[${carries.stops}]`));
  if (stops.length > 0) out.stop = stops.slice(0, carries.stops);
  return { ...out, ...formatMember(config, lost), ...thinkingMembers(body, config, carries, lost) };
}

function formatMember(config: JsonObject, lost: Lost): JsonObject {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const own = objectOf(responseSchema);
  const schema = objectOf(responseJsonSchema) ?? (own && jsonSchema(own));
  if (schema !== undefined)
    return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema } } };
  if (type === 'application/json') return { response_format: { type: 'json_object' } };
  if (typeof type === 'string' && type !== 'text/plain') lost.add('generationConfig.responseMimeType');
  return {};
}

const EFFORTS: Readonly<Record<string, string>> = Object.freeze({
  MINIMAL: 'low',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
});

function thinkingMembers(body: JsonObject, config: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const thinking = objectOf(config.thinkingConfig);
  if (thinking === undefined) return {};
  const level = textOf(thinking.thinkingLevel ?? thinking.thinking_level)?.toUpperCase();
  const budget: JsonValue | undefined = thinking.thinkingBudget ?? thinking.thinking_budget;
  const effort = level === undefined ? undefined : EFFORTS[level];
  const tokens = typeof budget === 'number' ? budget : undefined;
  if (effort === undefined && tokens === undefined) return {};
  if (carries.thinking === 'member') {
    if (effort !== undefined || tokens === -1) return { reasoning_effort: effort ?? 'medium' };
    if (tokens === 0) return { thinking: { type: 'disabled' } };
    return { thinking: { type: 'enabled', budget_tokens: Math.max(LEAST_BUDGET, tokens!) } };
  }
  if (carries.thinking === 'effort' && isThinker(textOf(body.model) ?? ''))
    return tokens === 0 ? {} : { reasoning_effort: effort ?? effortOf(tokens!) };
  if (tokens !== 0) lost.add('generationConfig.thinkingConfig');
  return {};
}

function effortOf(tokens: number): string {
  if (tokens < 0) return 'medium';
  return tokens <= 2048 ? 'low' : tokens <= 8192 ? 'medium' : 'high';
}
