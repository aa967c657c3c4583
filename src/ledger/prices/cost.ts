// What usage costs, exactly: whole numbers of 1e-12 US dollars, rounded once and only where a factor makes more digits.
import type { UsageRecord } from '../../call/record.ts';
import { dollarsOf, PER_DOLLAR } from './dollars.ts';
import { type Price, type RateName, type Rates, ratesFor } from './price.ts';

/** One kind of what is counted: how much of it, by which rate, by which factors, the first that is named. */
interface Part {
  readonly count: number;
  readonly rate: number;
  readonly factors: readonly string[];
}

/** Factors on what is counted, by the names that callers give them; `default` is of all that are not named. */
export type Factors = Readonly<Record<string, number>>;

/** A factor of one: twelve digits after the decimal point. */
const ONE = PER_DOLLAR;

/**
 * What a call costs, in 1e-12 USD. Tokens read from or written to a provider's cache, audio and images are parts of the
 * prompt's, those of reasoning, audio and images parts of the completion's.
 * @param tier the service tier as the provider names it @param factors an integration's adjustments
 */
export function costOf(price: Price, usage: UsageRecord, tier?: string, factors?: Factors): bigint {
  const rates = ratesFor(price, usage.promptTokens, tier);
  if (factors === undefined && isPlain(usage)) return plainCost(rates, usage);
  const parts = partsOf(rates, usage);
  if (factors === undefined) return parts.reduce((sum, { count, rate }) => sum + times(count, rate), 0n);
  let sum = 0n;
  for (const { count, rate, factors: names } of parts) {
    const name = names.find((one) => factors[one] !== undefined) ?? 'default';
    const factor = factors[name];
    sum += times(count, rate) * (factor === undefined ? ONE : dollarsOf(factor));
  }
  return (sum + ONE / 2n) / ONE;
}

/** Whether it counts text alone, as nearly all calls do. */
function isPlain(usage: UsageRecord): boolean {
  return (
    usage.inputAudioTokens === undefined &&
    usage.outputAudioTokens === undefined &&
    usage.cachedAudioTokens === undefined &&
    usage.inputImageTokens === undefined &&
    usage.outputImageTokens === undefined &&
    usage.searchUnits === undefined
  );
}

/** The sum of `partsOf` for text, without making them. */
function plainCost(rates: Rates, usage: UsageRecord): bigint {
  const { promptTokens, completionTokens = 0 } = usage;
  const read = Math.min(usage.cachedTokens ?? 0, promptTokens);
  const written = Math.min(usage.cacheCreationTokens ?? 0, promptTokens - read);
  const reasoned = Math.min(usage.reasoningTokens ?? 0, completionTokens);
  const { input = 0, output = 0, perCall = 0 } = rates;
  return (
    times(promptTokens - read - written, input) +
    times(read, rates.cacheRead ?? input) +
    times(written, rates.cacheWrite ?? input) +
    times(completionTokens - reasoned, output) +
    times(reasoned, rates.reasoning ?? output) +
    BigInt(perCall)
  );
}

/** Never a credit: a count below zero, which only entries of before counts were checked can have, costs nothing. */
function times(tokens: number, rate: number): bigint {
  return tokens > 0 ? BigInt(tokens) * BigInt(rate) : 0n;
}

function partsOf(rates: Rates, usage: UsageRecord): readonly Part[] {
  const { promptTokens, completionTokens = 0 } = usage;
  const { input = 0, output = 0 } = rates;
  const parts: Part[] = [];
  /** Takes a number of tokens out of a side's; tokens without a rate of their own cost the side's plain rate. */
  const take = (left: number, wanted: number | undefined, name: RateName, plain: Part): number => {
    const count = Math.min(wanted ?? 0, left);
    if (count === 0) return left;
    const own = rates[name];
    const factors = FACTORS[name];
    parts.push(
      own === undefined
        ? { count, rate: plain.rate, factors: [...factors, ...plain.factors] }
        : { count, rate: own, factors },
    );
    return left - count;
  };
  const asked: Part = { count: 0, rate: input, factors: FACTORS.input };
  const read: Part = {
    count: 0,
    rate: rates.cacheRead ?? input,
    factors: rates.cacheRead === undefined ? [...FACTORS.cacheRead, ...FACTORS.input] : FACTORS.cacheRead,
  };
  const cached = Math.min(usage.cachedTokens ?? 0, promptTokens);
  const cachedText = take(cached, usage.cachedAudioTokens, 'cacheReadAudio', read);
  if (cachedText > 0) parts.push({ ...read, count: cachedText });
  let left = take(promptTokens - cached, usage.cacheCreationTokens, 'cacheWrite', asked);
  const audio = Math.max(0, (usage.inputAudioTokens ?? 0) - (cached - cachedText));
  left = take(left, audio, 'inputAudio', asked);
  left = take(left, usage.inputImageTokens, 'inputImage', asked);
  if (left > 0) parts.push({ ...asked, count: left });

  const text: Part = { count: 0, rate: output, factors: FACTORS.output };
  left = take(completionTokens, usage.reasoningTokens, 'reasoning', text);
  left = take(left, usage.outputAudioTokens, 'outputAudio', text);
  left = take(left, usage.outputImageTokens, 'outputImage', text);
  for (const [wanted, name] of [
    [usage.acceptedPredictionTokens, 'prediction_accepted_token'],
    [usage.rejectedPredictionTokens, 'prediction_rejected_token'],
  ] as const) {
    const count = Math.min(wanted ?? 0, left);
    if (count > 0) parts.push({ count, rate: output, factors: [name, ...FACTORS.output] });
    left -= count;
  }
  if (left > 0) parts.push({ ...text, count: left });
  if (rates.perCall !== undefined) parts.push({ count: 1, rate: rates.perCall, factors: FACTORS.perCall });
  const { searchUnits: searches } = usage;
  if (searches !== undefined && rates.perSearch !== undefined)
    parts.push({ count: searches, rate: rates.perSearch, factors: FACTORS.perSearch });
  return parts;
}

/** Which factor counts for a rate, by the names of `pricing_adjustments` (admin-api facts, 4.6). */
const FACTORS: Readonly<Record<RateName, readonly string[]>> = {
  input: ['request_text_token', 'request_token'],
  output: ['response_text_token', 'response_token'],
  cacheRead: ['cache_read_text_input_token', 'cache_read_input_token'],
  cacheWrite: ['cache_write_text_input_token', 'cache_write_input_token'],
  reasoning: ['reasoning_token'],
  inputAudio: ['request_audio_token'],
  outputAudio: ['response_audio_token'],
  cacheReadAudio: ['cache_read_audio_input_token'],
  inputImage: ['request_image_token'],
  outputImage: ['response_image_token'],
  perCall: ['additional_units.request'],
  perSearch: ['additional_units.search'],
};
