// Token counts in what was said elsewhere: by OpenAI's names, by those of its responses, Anthropic's and Gemini's.
import type { JsonObject } from '@bufbuild/protobuf';
import type { UsageRecord } from '../store/request-log.ts';
import { isObject } from './logs-json.ts';
import { defined } from './patch.ts';

/** The counts of an answer, or of the last of a stream's events that has some; undefined when there are none. */
export function usageIn(
  body: JsonObject | readonly JsonObject[] | string | undefined,
): UsageRecord | undefined {
  if (body === undefined || typeof body === 'string') return undefined;
  if (!Array.isArray(body)) return usageOf(body as JsonObject);
  return (body as readonly JsonObject[]).map(usageOf).findLast((usage) => usage !== undefined);
}

function usageOf(answer: JsonObject): UsageRecord | undefined {
  const inner = [answer, answer.response, answer.message].filter(isObject);
  const counts = inner.flatMap(({ usage, usageMetadata }) => [usage, usageMetadata]).find(isObject);
  if (counts === undefined) return undefined;
  const read = tokens(counts.cache_read_input_tokens);
  const written = tokens(counts.cache_creation_input_tokens);
  // Anthropic's input leaves out what was read from and written to the cache.
  const input = tokens(counts.input_tokens, counts.promptTokenCount);
  const prompt =
    tokens(counts.prompt_tokens) ?? (input === undefined ? undefined : input + (read ?? 0) + (written ?? 0));
  const completion = tokens(counts.completion_tokens, counts.output_tokens, counts.candidatesTokenCount);
  const total = tokens(counts.total_tokens, counts.totalTokenCount);
  if (prompt === undefined && completion === undefined && total === undefined) return undefined;
  const promptTokens = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0));
  const sum = promptTokens + (completion ?? 0);
  return defined<UsageRecord>({
    promptTokens,
    completionTokens: completion,
    totalTokens: total ?? sum,
    cachedTokens:
      detail(counts, ['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens') ??
      read ??
      tokens(counts.cachedContentTokenCount),
    cacheCreationTokens: written,
    reasoningTokens:
      detail(counts, ['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens') ??
      tokens(counts.thoughtsTokenCount),
  });
}

function detail(counts: JsonObject, groups: readonly string[], name: string): number | undefined {
  for (const group of groups) {
    const inner = counts[group];
    if (isObject(inner)) return tokens(inner[name]);
  }
  return undefined;
}

/** The first of the values that is a count. More than 1e12 tokens are none. */
function tokens(...values: unknown[]): number | undefined {
  return values.find(
    (value): value is number =>
      Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 1e12,
  );
}
