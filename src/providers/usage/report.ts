// What a provider's report of token counts is worth: counts that can be true, or a report that is refused. A refused
// report is treated as no report: the usage is estimated and marked as an estimate.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Usage } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { isObject } from '../json-object.ts';

/** The counts of an answer; `refused` for a report that cannot be true; undefined when there is no report. */
export type UsageReport = Usage | 'refused' | undefined;

/** Tokens of one call that a report may name at the most, for each count. */
export const MOST_REPORTED = 1_000_000_000_000;

/** A count that is absent or null is undefined; one that is not a whole number from 0 to MOST_REPORTED is NaN. */
export function countOf(value: JsonValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MOST_REPORTED
    ? value
    : Number.NaN;
}

/** The sum of the counts that are given; NaN when one of them cannot be true; undefined when none is given. */
export function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : given.reduce((sum, value) => sum + value, 0);
}

/** Parts of the prompt's tokens and of the completion's, by their names in OpenAI's details. */
const PROMPT_PARTS = [
  'cached_tokens',
  'cache_creation_tokens',
  'cache_creation_1h_tokens',
  'audio_tokens',
  'image_tokens',
  'text_tokens',
];
const COMPLETION_PARTS = [
  ...['reasoning_tokens', 'audio_tokens', 'image_tokens', 'text_tokens'],
  ...['accepted_prediction_tokens', 'rejected_prediction_tokens'],
];
/** Parts that have nothing in common: together they cannot be more than the whole. */
const APART = [
  ['cached_tokens', 'cache_creation_tokens'],
  ['accepted_prediction_tokens', 'rejected_prediction_tokens'],
  ['audio_tokens', 'image_tokens'],
];

/**
 * Whether counts under OpenAI's names can be true: every count is a whole number that is not negative, no part is more
 * than what it is a part of, and the total is not less than its parts.
 */
export function canBeTrue(counts: JsonObject): boolean {
  const prompt = countOf(counts.prompt_tokens);
  const completion = countOf(counts.completion_tokens);
  const total = countOf(counts.total_tokens);
  const named = [prompt, completion, total].filter((count) => count !== undefined);
  if (named.some(Number.isNaN) || Number.isNaN(countOf(counts.search_units))) return false;
  if (total !== undefined && total < (prompt ?? 0) + (completion ?? 0)) return false;
  return (
    partsFit(counts.prompt_tokens_details, PROMPT_PARTS, prompt ?? 0) &&
    partsFit(counts.completion_tokens_details, COMPLETION_PARTS, completion ?? 0)
  );
}

function partsFit(details: JsonValue | undefined, names: readonly string[], whole: number): boolean {
  if (details === undefined || details === null) return true;
  if (!isObject(details)) return false;
  // A comparison with NaN is false.
  for (const name of names) if (!((countOf(details[name]) ?? 0) <= whole)) return false;
  const cachedAudio = isObject(details.cached_tokens_details)
    ? (countOf(details.cached_tokens_details.audio_tokens) ?? 0)
    : 0;
  if (!(cachedAudio <= whole)) return false;
  return APART.every(
    (together) => together.reduce((sum, name) => sum + (countOf(details[name]) ?? 0), 0) <= whole,
  );
}
