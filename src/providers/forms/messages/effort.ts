// How much the model thinks, in OpenAI's words: from Anthropic's effort, or from its budget of tokens.
import type { JsonObject } from '@bufbuild/protobuf';

/** Budgets up to which an effort is meant, as the way to Anthropic's wire has them (dialects/anthropic/thinking.ts). */
const BUDGETS: readonly (readonly [number, string])[] = [
  [2048, 'low'],
  [8192, 'medium'],
];

/** The effort; undefined when neither says one. */
export function effortOf(effort: string, thinking?: JsonObject): string;
export function effortOf(effort: string | undefined, thinking: JsonObject | undefined): string | undefined;
export function effortOf(effort: string | undefined, thinking?: JsonObject): string | undefined {
  if (effort !== undefined) return effort === 'max' ? 'high' : effort;
  if (thinking?.type === 'adaptive') return 'high';
  if (thinking?.type !== 'enabled') return undefined;
  const budget = Number(thinking.budget_tokens ?? 0);
  return BUDGETS.find(([most]) => budget <= most)?.[1] ?? 'high';
}

/** Models of OpenAI's wire that take an effort; others refuse the member. */
const THINKERS = /(?:^|\/)(?:o[1-9](?![0-9])|gpt-(?:[5-9](?![^/]*-chat)|oss)|codex|grok-3-mini)/i;

/** Whether the model is known to take `reasoning_effort`. */
export function isThinker(model: string): boolean {
  return THINKERS.test(model);
}
