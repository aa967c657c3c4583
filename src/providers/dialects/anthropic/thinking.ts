// Thinking, effort and the bound on tokens, which depend on each other (Anthropic,
// "Extended thinking", "Adaptive thinking", "Effort"). `reasoning_effort` becomes
//   - for models up to 4.5, which know only a budget: `thinking: {enabled, budget_tokens}`;
//   - for later ones, which refuse a budget: `thinking: {adaptive}` and `output_config.effort`.
// A `thinking` member of the request says it directly and goes before.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given } from '../../json-object.ts';

/** Anthropic requires max_tokens; this is sent when the caller sets none (in addition to a budget for thinking). */
export const DEFAULT_MAX_TOKENS = 4096;
/** The least budget that Anthropic accepts. */
const MIN_BUDGET = 1024;
const BUDGETS: Readonly<Record<string, number>> = Object.freeze({
  minimal: MIN_BUDGET,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
});

/** Members of the request that bound how much the model thinks and writes. */
export interface Bounds {
  readonly maxTokens: number;
  readonly thinking: JsonObject | undefined;
  readonly effort: string | undefined;
}

/** @throws GatewayError `validation_failed` when the tokens do not suffice to think at all. */
export function bounds(request: CreateChatCompletionRequest): Bounds {
  const tokens = request.maxCompletionTokens ?? request.maxTokens;
  const limit = tokens === undefined ? undefined : Number(tokens);
  const effort = request.reasoningEffort;
  if (request.thinking !== undefined) {
    const { type, budgetTokens, extra } = request.thinking;
    const budget = budgetTokens === undefined ? undefined : Number(budgetTokens);
    const thinking = { type, ...(budget === undefined ? {} : { budget_tokens: budget }), ...given(extra) };
    const later = effort !== undefined && effort !== 'none' && type === 'adaptive';
    return {
      maxTokens: limit ?? DEFAULT_MAX_TOKENS + (budget ?? 0),
      thinking,
      effort: later ? effortWord(effort) : undefined,
    };
  }
  if (effort === undefined) {
    return { maxTokens: limit ?? DEFAULT_MAX_TOKENS, thinking: undefined, effort: undefined };
  }
  if (effort === 'none') {
    return { maxTokens: limit ?? DEFAULT_MAX_TOKENS, thinking: { type: 'disabled' }, effort: undefined };
  }
  if (!knowsOnlyBudgets(request.model ?? '')) {
    return {
      maxTokens: limit ?? DEFAULT_MAX_TOKENS,
      thinking: { type: 'adaptive' },
      effort: effortWord(effort),
    };
  }
  const budget = budgetFor(effort, limit);
  return {
    maxTokens: limit ?? DEFAULT_MAX_TOKENS + budget,
    thinking: { type: 'enabled', budget_tokens: budget },
    effort: undefined,
  };
}

/** Within the caller's bound a fifth is left for the answer, for the bound counts the thinking too. */
function budgetFor(effort: string, limit: number | undefined): number {
  const budget = Object.hasOwn(BUDGETS, effort) ? BUDGETS[effort] : undefined;
  if (budget === undefined) {
    throw invalidField('reasoning_effort', `must be none or one of ${Object.keys(BUDGETS).join(', ')}`);
  }
  if (limit === undefined) return budget;
  if (limit <= MIN_BUDGET) {
    throw invalidField('reasoning_effort', `needs max_completion_tokens above ${MIN_BUDGET} with this model`);
  }
  return Math.max(MIN_BUDGET, Math.min(budget, Math.floor(limit * 0.8)));
}

/** Anthropic's least effort is "low". */
function effortWord(effort: string): string {
  return effort === 'minimal' ? 'low' : effort;
}

/** Claude 2, 3 and 4 up to 4.5, by name; dates are no versions (claude-sonnet-4-20250514 is 4.0). */
function knowsOnlyBudgets(model: string): boolean {
  if (/claude-(?:instant|[23])(?![0-9])/.test(model)) return true;
  const four = /claude-(?:opus|sonnet|haiku)-4(?:[-.](\d{1,2}))?(?![\d.])/.exec(model);
  return four !== null && Number(four[1] ?? 0) <= 5;
}
