// Token counts, wherever a provider of this dialect puts them: `usage`, Groq's
// `x_groq.usage`, Moonshot's `choices[].usage`.
import type { JsonObject } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import type { MessageJson, UsageTap } from '../../dialect.ts';
import { isObject, objectOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';

/** The object of token counts in an answer or a stream's chunk; undefined when it has none. */
export function usageIn(json: JsonObject): JsonObject | undefined {
  const usage = json.usage;
  if (isObject(usage)) return usage;
  const groq = json.x_groq;
  if (isObject(groq)) {
    const nested = objectOf(groq.usage);
    if (nested) return nested;
  }
  const choices = json.choices;
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices) {
    if (isObject(choice) && isObject(choice.usage)) return choice.usage;
  }
  return undefined;
}

/**
 * The counts as the gateway's books read them. Counts that a provider names its own way are
 * put where OpenAI has them: DeepSeek's `prompt_cache_hit_tokens` and Moonshot's `cached_tokens`
 * (both are parts of the prompt's tokens); a total that is not given is the sum.
 */
export function readUsage(json: MessageJson, counts: JsonObject): Usage {
  let source = counts;
  const cached = counts.prompt_cache_hit_tokens ?? counts.cached_tokens;
  const details = objectOf(counts.prompt_tokens_details);
  if (typeof cached === 'number' && typeof details?.cached_tokens !== 'number') {
    source = { ...source, prompt_tokens_details: { ...details, cached_tokens: cached } };
  }
  if (typeof counts.total_tokens !== 'number') {
    source = { ...source, total_tokens: count(counts.prompt_tokens) + count(counts.completion_tokens) };
  }
  return json.decode(UsageSchema, source);
}

/** Usage in a whole answer or an event of a pass-through call. */
export function usageOf(json: MessageJson, value: unknown): Usage | undefined {
  const counts = isObject(value) ? usageIn(value) : undefined;
  return counts && readUsage(json, counts);
}

/** Reads usage from all events of one pass-through stream. */
export function tapUsage(json: MessageJson): UsageTap {
  let counts: JsonObject | undefined;
  return {
    push(value) {
      const found = isObject(value) ? usageIn(value) : undefined;
      if (found !== undefined) counts = mergeUsage(counts, found);
    },
    usage: () => counts && readUsage(json, counts),
  };
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
