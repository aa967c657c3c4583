// How much the model thinks (Gemini API, "Thinking"): Gemini 3 and later take a level, 2.5 a budget of tokens. The
// budgets of OpenAI's efforts are those of Google's own OpenAI-compatible API.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { googleOptions } from './google-options.ts';

const BUDGETS: Readonly<Record<string, number>> = Object.freeze({
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
});
/** Gemini 3 cannot be told not to think at all. */
const LEVELS: Readonly<Record<string, string>> = Object.freeze({
  none: 'minimal',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
});

/** The request's thinkingConfig; undefined when it asks for none. @throws GatewayError `validation_failed` for an unknown effort. */
export function thinkingConfig(request: CreateChatCompletionRequest): JsonObject | undefined {
  const own = googleOptions(request).thinkingConfig;
  if (own !== undefined) return own;
  const { thinking, reasoningEffort: effort } = request;
  if (thinking !== undefined) {
    if (thinking.type === 'disabled')
      return takesLevels(request) ? { thinkingLevel: 'minimal' } : { thinkingBudget: 0 };
    const budget = thinking.budgetTokens;
    return { ...(budget === undefined ? {} : { thinkingBudget: Number(budget) }), includeThoughts: true };
  }
  if (effort === undefined) return undefined;
  if (!Object.hasOwn(BUDGETS, effort))
    throw invalidField('reasoning_effort', `must be one of ${Object.keys(BUDGETS).join(', ')}`);
  const amount: JsonObject = takesLevels(request)
    ? { thinkingLevel: LEVELS[effort] as string }
    : { thinkingBudget: BUDGETS[effort] as number };
  return effort === 'none' ? amount : { ...amount, includeThoughts: true };
}

/** Gemini 3 and later. */
export function takesLevels({ model = '' }: { readonly model?: string }): boolean {
  const version = /gemini-(\d+)/.exec(model)?.[1];
  return version !== undefined && Number(version) >= 3;
}
