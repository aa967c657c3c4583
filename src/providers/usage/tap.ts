// Usage in the answers of pass-through calls, whatever wire the path speaks: a provider has several.
import type { JsonObject } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { MessageJson, ProviderEntry, UsageTap } from '../dialect.ts';
import { isObject, objectOf } from '../json-object.ts';
import { mergeUsage } from '../merge-usage.ts';
import { inOpenAiNames, type Reasoning } from './names.ts';
import { canBeTrue, type UsageReport } from './report.ts';

/**
 * The object of token counts in an answer or an event: `usage`, Gemini's `usageMetadata`, Groq's `x_groq.usage`,
 * Moonshot's `choices[].usage`, Cohere's `delta.usage` and `meta.billed_units`, that of the whole answer in an event of Responses (`response`) or of Anthropic's
 * stream (`message`); undefined when it has none.
 */
export function usageIn(json: JsonObject): JsonObject | undefined {
  const own = objectOf(json.usage) ?? objectOf(json.usageMetadata) ?? objectOf(objectOf(json.delta)?.usage);
  if (own !== undefined) return own;
  const meta = objectOf(json.meta);
  if (isObject(meta?.billed_units)) return meta;
  for (const holder of [json.x_groq, json.response, json.message]) {
    const nested = objectOf(objectOf(holder)?.usage);
    if (nested !== undefined) return nested;
  }
  if (!Array.isArray(json.choices)) return undefined;
  for (const choice of json.choices) {
    if (isObject(choice) && isObject(choice.usage)) return choice.usage;
  }
  return undefined;
}

/** The counts as the gateway's books read them. */
export function readUsage(json: MessageJson, counts: JsonObject, reasoning?: Reasoning): UsageReport {
  const named = inOpenAiNames(counts, reasoning);
  if (named === undefined) return undefined;
  return canBeTrue(named) ? json.decode(UsageSchema, named) : 'refused';
}

/** Reads usage from the answer, or all events, of one pass-through call. */
export function tapUsage(json: MessageJson, { reasoning }: ProviderEntry): UsageTap {
  let counts: JsonObject | undefined;
  return {
    push(value) {
      const found = isObject(value) ? usageIn(value) : undefined;
      if (found !== undefined) counts = mergeUsage(counts, found);
    },
    usage: () => counts && readUsage(json, counts, reasoning),
  };
}
