// Token counts of a message as the books keep them.
import type {
  CompletionTokensDetails,
  PromptTokensDetails,
  Usage,
} from '../../gen/gateway/inference/v2/common_pb.ts';
import type { UsageRecord } from '../call/record.ts';
import { isObject } from '../providers/json-object.ts';
import { MEDIA, mediaIn } from '../providers/usage/media.ts';

/** A record while it is filled: members that were not reported stay absent. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** @param usage a report that was not refused (providers/usage/report.ts) */
export function usageRecord(usage: Usage): UsageRecord {
  const { completionTokens, promptTokensDetails: prompt, completionTokensDetails: completion } = usage;
  const record: Writable<UsageRecord> = {
    promptTokens: Number(usage.promptTokens),
    totalTokens: Number(usage.totalTokens),
  };
  if (completionTokens !== undefined) record.completionTokens = Number(completionTokens);
  if (prompt?.cachedTokens !== undefined) record.cachedTokens = Number(prompt.cachedTokens);
  if (prompt?.cacheCreationTokens !== undefined)
    record.cacheCreationTokens = Number(prompt.cacheCreationTokens);
  if (prompt?.cacheCreation1hTokens) record.cacheCreation1hTokens = Number(prompt.cacheCreation1hTokens);
  if (completion?.reasoningTokens !== undefined) record.reasoningTokens = Number(completion.reasoningTokens);
  if (prompt !== undefined) noteMedia(record, prompt, 'input');
  if (completion !== undefined) {
    noteMedia(record, completion, 'output');
    const { acceptedPredictionTokens: accepted, rejectedPredictionTokens: rejected } = completion;
    if (accepted) record.acceptedPredictionTokens = Number(accepted);
    if (rejected) record.rejectedPredictionTokens = Number(rejected);
  }
  const searches = usage.extra?.search_units;
  if (isCount(searches)) record.searchUnits = searches;
  const tools = usage.extra?.server_tool_use;
  const found = isObject(tools) ? tools.web_search_requests : undefined;
  if (isCount(found)) record.webSearches = found;
  return usage.extra?.[MEDIA] === undefined ? record : { ...record, ...mediaIn(usage) };
}

/** Tokens of audio and images; zero is not recorded. */
function noteMedia(
  record: Writable<UsageRecord>,
  { audioTokens, extra }: PromptTokensDetails | CompletionTokensDetails,
  side: 'input' | 'output',
): void {
  if (audioTokens) record[`${side}AudioTokens`] = Number(audioTokens);
  if (extra === undefined) return;
  const { image_tokens: image, cached_tokens_details: cached } = extra;
  if (isCount(image)) record[`${side}ImageTokens`] = image;
  const audio = typeof cached === 'object' && !Array.isArray(cached) ? cached?.audio_tokens : undefined;
  if (side === 'input' && isCount(audio)) record.cachedAudioTokens = audio;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
