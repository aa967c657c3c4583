// What usage costs, exactly: whole numbers of 1e-12 US dollars, rounded once and only where a factor makes more digits.
import type { UsageRecord } from '../../call/record.ts';
import { dollarsOf, PER_DOLLAR } from './dollars.ts';
import { type AllRates, imageRate, type Price, type RateName, type Rates, ratesFor } from './price.ts';

/** One kind of what is counted: how much of it, by which rate, by which factors, the first that is named. */
interface Part {
  readonly count: number;
  /** Counts of one that the rate is for: 1000 where milliseconds are counted and a second has the rate. */
  readonly per?: number;
  readonly rate: number;
  readonly factors: readonly string[];
}

/** Factors on what is counted, by the names that callers give them; `default` is of all that are not named. */
export type Factors = Readonly<Record<string, number>>;

/** A factor of one: twelve digits after the decimal point. */
const ONE = PER_DOLLAR;

/**
 * What a call costs, in 1e-12 USD; undefined where something was counted that the price has no rate for. Tokens read from
 * or written to a provider's cache, audio and images are parts of the prompt's, those of reasoning, audio and images parts
 * of the completion's.
 * @param tier the service tier as the provider names it @param factors an integration's adjustments
 */
export function costOf(
  price: Price,
  usage: UsageRecord,
  tier?: string,
  factors?: Factors,
): bigint | undefined {
  const rates = ratesFor(price, usage.promptTokens, tier);
  if (factors === undefined && isPlain(usage)) return plainCost(rates, usage);
  const units = unitsOf(rates, usage);
  if (units === undefined) return undefined;
  // Counted in thousandths, so that what is counted in milliseconds is exact, and rounded once.
  let sum = 0n;
  for (const { count, per = 1, rate, factors: names } of [...partsOf(rates, usage), ...units]) {
    const amount = times(count, rate) * BigInt(FINEST / per);
    if (factors === undefined) sum += amount * ONE;
    else {
      const factor = factors[names.find((one) => factors[one] !== undefined) ?? 'default'];
      sum += amount * (factor === undefined ? ONE : dollarsOf(factor));
    }
  }
  const whole = ONE * BigInt(FINEST);
  return (sum + whole / 2n) / whole;
}

const FINEST = 1000;

/** Whether it counts text alone, as nearly all calls do. */
function isPlain(usage: UsageRecord): boolean {
  return (
    usage.inputAudioTokens === undefined &&
    usage.outputAudioTokens === undefined &&
    usage.cachedAudioTokens === undefined &&
    usage.inputImageTokens === undefined &&
    usage.outputImageTokens === undefined &&
    usage.cacheCreation1hTokens === undefined &&
    usage.searchUnits === undefined &&
    usage.webSearches === undefined &&
    !countsUnits(usage)
  );
}

/** Whether something other than tokens and searches was counted. */
function countsUnits({ images, audioMs, videoMs, characters, pages, trainedTokens }: UsageRecord): boolean {
  return (images ?? audioMs ?? videoMs ?? characters ?? pages ?? trainedTokens) !== undefined;
}

/**
 * What is counted apart from tokens; undefined where one kind of it has no rate, and no tokens are paid in its place.
 * Images that the provider counts in tokens cost those.
 */
function unitsOf(rates: AllRates, usage: UsageRecord): readonly Part[] | undefined {
  const { images, imageKind = 'default.default', trainedTokens } = usage;
  const parts: Part[] = [];
  const inTokens = usage.totalTokens > 0 && TOKEN_RATES.some((name) => rates[name] !== undefined);
  let known = true;
  const take = (count: number | undefined, rate: number | undefined, name: string, per = 1): void => {
    if (count === undefined || count === 0) return;
    if (rate !== undefined) parts.push({ count, per, rate, factors: [name] });
    else if (!inTokens && rates.perCall === undefined) known = false;
  };
  if (!inTokens) {
    const rate = rates.images && imageRate(rates.images, imageKind);
    take(images, rate, `image.${imageKind}`);
  }
  take(usage.audioMs, rates.perAudioSecond, 'additional_units.audio_second', 1000);
  take(usage.videoMs, rates.perVideoSecond, 'additional_units.video_second', 1000);
  take(usage.characters, rates.perCharacter, 'additional_units.character');
  take(usage.pages, rates.perPage, 'additional_units.page');
  take(trainedTokens, rates.perTrainedToken, 'additional_units.trained_token');
  return known ? parts : undefined;
}

const TOKEN_RATES = ['input', 'output', 'inputAudio', 'outputAudio', 'inputImage', 'outputImage'] as const;

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
  const written = Math.min(usage.cacheCreationTokens ?? 0, promptTokens - cached);
  const forHour = Math.min(usage.cacheCreation1hTokens ?? 0, written);
  let left = take(promptTokens - cached, forHour, writesForHour(rates), asked);
  left = take(left, written - forHour, 'cacheWrite', asked);
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
  const { webSearches } = usage;
  if (webSearches !== undefined && rates.perWebSearch !== undefined)
    parts.push({ count: webSearches, rate: rates.perWebSearch, factors: FACTORS.perWebSearch });
  return parts;
}

/** The rate of what a cache keeps for an hour: many prices have one for all that is written. */
function writesForHour({ cacheWrite1h }: Rates): RateName {
  return cacheWrite1h === undefined ? 'cacheWrite' : 'cacheWrite1h';
}

/** Which factor counts for a rate, by the names of `pricing_adjustments` (admin-api facts, 4.6). */
const FACTORS: Readonly<Record<RateName, readonly string[]>> = {
  input: ['request_text_token', 'request_token'],
  output: ['response_text_token', 'response_token'],
  cacheRead: ['cache_read_text_input_token', 'cache_read_input_token'],
  cacheWrite: ['cache_write_text_input_token', 'cache_write_input_token'],
  cacheWrite1h: ['cache_write_text_input_token', 'cache_write_input_token'],
  reasoning: ['reasoning_token'],
  inputAudio: ['request_audio_token'],
  outputAudio: ['response_audio_token'],
  cacheReadAudio: ['cache_read_audio_input_token'],
  inputImage: ['request_image_token'],
  outputImage: ['response_image_token'],
  perCall: ['additional_units.request'],
  perSearch: ['additional_units.search'],
  perWebSearch: ['additional_units.web_search'],
  perAudioSecond: ['additional_units.audio_second'],
  perVideoSecond: ['additional_units.video_second'],
  perCharacter: ['additional_units.character'],
  perPage: ['additional_units.page'],
  perTrainedToken: ['additional_units.trained_token'],
};
