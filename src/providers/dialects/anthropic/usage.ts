// Token counts (Anthropic API reference, Messages, `usage`) in OpenAI's members; the rules are in usage/names.ts.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { objectOf } from '../../json-object.ts';
import { MEDIA } from '../../usage/media.ts';
import { anthropic } from '../../usage/names.ts';
import { canBeTrue, type UsageReport } from '../../usage/report.ts';

/** The counts of an answer, or of an event of a stream (in `message` of the first); undefined when it has none. */
export function usageIn(json: JsonObject): JsonObject | undefined {
  return objectOf(json.usage) ?? objectOf(objectOf(json.message)?.usage);
}

/**
 * The counts in OpenAI's members. Not strict: also Anthropic's own, as they came (the cache's counts by time to live,
 * iterations, server tools, service tier).
 */
export function readUsage(counts: JsonObject, strict: boolean): UsageReport {
  const named = anthropic(counts);
  if (!canBeTrue(named) || counts[MEDIA] !== undefined) return 'refused';
  const details = objectOf(named.prompt_tokens_details);
  const thought = tokens(objectOf(named.completion_tokens_details)?.reasoning_tokens);
  const { input_tokens: _input, output_tokens: _output, ...own } = counts;
  return create(UsageSchema, {
    promptTokens: tokens(named.prompt_tokens) ?? 0n,
    completionTokens: tokens(named.completion_tokens) ?? 0n,
    totalTokens: tokens(named.total_tokens) ?? 0n,
    ...(details === undefined
      ? {}
      : {
          promptTokensDetails: {
            cachedTokens: tokens(details.cached_tokens),
            cacheCreationTokens: tokens(details.cache_creation_tokens),
            cacheCreation1hTokens: tokens(details.cache_creation_1h_tokens),
          },
        }),
    ...(thought === undefined ? {} : { completionTokensDetails: { reasoningTokens: thought } }),
    ...(strict || Object.keys(own).length === 0 ? {} : { extra: own }),
  });
}

/** Of an answer that is not over: its beginning counts the prompt, and of what is made only the first tokens. */
export function readBegun({ output_tokens: _, ...counts }: JsonObject, strict: boolean): UsageReport {
  const usage = readUsage(counts, strict);
  if (typeof usage === 'object') usage.completionTokens = undefined;
  return usage;
}

function tokens(value: JsonValue | undefined): bigint | undefined {
  return typeof value === 'number' ? BigInt(value) : undefined;
}
