// Token counts in bodies from elsewhere, by the rules of every wire that the gateway reads (providers/usage).
import type { JsonObject } from '@bufbuild/protobuf';
import type { UsageRecord } from '../../call/record.ts';
import { measured } from '../../ledger/tokens/counter.ts';
import { textsIn } from '../../ledger/tokens/texts.ts';
import { usageRecord } from '../../ledger/usage-record.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { mergeUsage } from '../../providers/merge-usage.ts';
import { readUsage, usageIn } from '../../providers/usage/tap.ts';
import { codec } from '../../rest/codec.ts';

/** A body: an object, the events of a stream, or a text. */
type Said = JsonObject | readonly JsonObject[] | string | undefined;

/** A call's reported usage; `refused`: it cannot be true, and the usage is an estimate from the texts. */
export interface ToldUsage {
  readonly usage: UsageRecord | undefined;
  readonly refused: boolean;
}

/** The counts of an answer, or of all of a stream's events together. */
export function usageOf(asked: Said, answer: Said, provider: ProviderEntry | undefined): ToldUsage {
  const events: readonly JsonObject[] =
    answer === undefined || typeof answer === 'string'
      ? []
      : Array.isArray(answer)
        ? answer
        : [answer as JsonObject];
  let counts: JsonObject | undefined;
  for (const event of events) {
    const found = usageIn(event);
    if (found !== undefined) counts = mergeUsage(counts, found);
  }
  const report = counts && readUsage(codec, counts, provider?.reasoning);
  if (report === 'refused') return { usage: estimate(asked, answer), refused: true };
  return { usage: report && usageRecord(report), refused: false };
}

function estimate(asked: Said, answer: Said): UsageRecord {
  const [prompt, completion] = [measured(textsIn(asked)), measured(textsIn(answer))];
  return { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion };
}
