// Token counts (Anthropic API reference, Messages, `usage`): `input_tokens` leaves out
// what was read from and written to the cache; OpenAI's `prompt_tokens` is all of it.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import type { UsageTap } from '../../dialect.ts';
import { isObject, objectOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';

/** The counts of an answer, or of an event of a stream (in `message` of the first); undefined when it has none. */
export function usageIn(json: JsonObject): JsonObject | undefined {
  return objectOf(json.usage) ?? objectOf(objectOf(json.message)?.usage);
}

/**
 * The counts in OpenAI's members. Not strict: also Anthropic's own, as they came (the cache's
 * counts by time to live, server tools, service tier).
 */
export function readUsage(counts: JsonObject, strict: boolean): Usage {
  const read = tokens(counts.cache_read_input_tokens);
  const written = tokens(counts.cache_creation_input_tokens);
  const thought = tokens(objectOf(counts.output_tokens_details)?.thinking_tokens);
  const prompt = (tokens(counts.input_tokens) ?? 0n) + (read ?? 0n) + (written ?? 0n);
  const completion = tokens(counts.output_tokens) ?? 0n;
  const { input_tokens: _input, output_tokens: _output, ...own } = counts;
  return create(UsageSchema, {
    promptTokens: prompt,
    completionTokens: completion,
    totalTokens: prompt + completion,
    ...(read === undefined && written === undefined
      ? {}
      : { promptTokensDetails: { cachedTokens: read, cacheCreationTokens: written } }),
    ...(thought === undefined ? {} : { completionTokensDetails: { reasoningTokens: thought } }),
    ...(strict || Object.keys(own).length === 0 ? {} : { extra: own }),
  });
}

/** Usage in a whole answer or an event of a pass-through call. */
export function usageOf(value: unknown): Usage | undefined {
  const counts = isObject(value) ? usageIn(value) : undefined;
  return counts && readUsage(mergeUsage(undefined, counts), false);
}

/** Reads usage from all events of one pass-through stream: the first has the input's, the last the output's. */
export function tapUsage(): UsageTap {
  let counts: JsonObject | undefined;
  return {
    push(value) {
      const found = isObject(value) ? usageIn(value) : undefined;
      if (found !== undefined) counts = mergeUsage(counts, found);
    },
    usage: () => counts && readUsage(counts, false),
  };
}

function tokens(value: JsonValue | undefined): bigint | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
}
