// Usage in the answers of pass-through calls, whatever wire the path speaks: a provider has several.
import type { JsonObject } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { MessageJson, ProviderEntry, UsageTap } from '../dialect.ts';
import { isObject, textOf } from '../json-object.ts';
import { mergeUsage } from '../merge-usage.ts';
import { bareCounts, usageIn } from './forms.ts';
import { MEDIA } from './media.ts';
import { inOpenAiNames, type Reasoning } from './names.ts';
import { canBeTrue, type UsageReport } from './report.ts';
import { chatSearches, GeminiSearches, ResponseSearches, withSearches } from './searches.ts';

export { usageIn } from './forms.ts';

/** The counts as the gateway's books read them. */
export function readUsage(json: MessageJson, counts: JsonObject, reasoning?: Reasoning): UsageReport {
  const named = inOpenAiNames(counts, reasoning);
  if (named === undefined) return undefined;
  return canBeTrue(named) && counts[MEDIA] === undefined ? json.decode(UsageSchema, named) : 'refused';
}

/** Reads usage from the answer, or all events, of one pass-through call. */
export function tapUsage(json: MessageJson, { reasoning }: ProviderEntry): UsageTap {
  let counts: JsonObject | undefined;
  let bare: JsonObject | undefined;
  let model: string | undefined;
  const [gemini, responses] = [new GeminiSearches(), new ResponseSearches()];
  return {
    push(value) {
      if (!isObject(value)) return;
      gemini.push(value);
      responses.push(value);
      model = textOf(value.model) ?? textOf(value.modelVersion) ?? model;
      const found = usageIn(value);
      if (found !== undefined) counts = mergeUsage(counts, found);
      const others = bareCounts(value);
      if (others !== undefined) bare = mergeUsage(bare, others);
    },
    usage() {
      const own = counts && readUsage(json, counts, reasoning);
      const searches = gemini.count(model) || responses.count || chatSearches(counts, model);
      return withSearches(own ?? (bare && readUsage(json, bare, reasoning)), searches);
    },
  };
}
