// What a model's calls cost.

/**
 * Rates, in 1e-12 USD: of a token, `perCall` of a call, the others of what their names say. A rate of a kind of tokens
 * that is not there is the plain one of its side.
 */
export interface Rates {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** Of what is written to a cache for an hour; absent: `cacheWrite`. */
  readonly cacheWrite1h?: number;
  readonly reasoning?: number;
  readonly inputAudio?: number;
  readonly outputAudio?: number;
  /** Of audio that is read from a provider's cache. */
  readonly cacheReadAudio?: number;
  readonly inputImage?: number;
  readonly outputImage?: number;
  readonly perCall?: number;
  /** Of one search of a rerank. */
  readonly perSearch?: number;
  /** Of one search of the web by the provider's own tool. */
  readonly perWebSearch?: number;
  /** Of a second of audio that is heard, and of video that is made. */
  readonly perAudioSecond?: number;
  readonly perVideoSecond?: number;
  /** Of a character that is spoken. */
  readonly perCharacter?: number;
  /** Of a page that is read. */
  readonly perPage?: number;
  /** Of a token that a model is trained on. */
  readonly perTrainedToken?: number;
}

export type RateName = keyof Rates;

/** Of one image by its kind, `<quality>.<size>`: `default` stands for all that are not named. */
export type ImageRates = Readonly<Record<string, number>>;

/** Rates of all that is counted. */
export interface AllRates extends Rates {
  readonly images?: ImageRates;
}

/** The rate of an image's kind; undefined: it has none. */
export function imageRate(rates: ImageRates, kind: string): number | undefined {
  const dot = kind.indexOf('.');
  const [quality, size] = [kind.slice(0, dot), kind.slice(dot + 1)];
  for (const name of [kind, `${quality}.default`, `default.${size}`, 'default.default']) {
    const rate = Object.hasOwn(rates, name) ? rates[name] : undefined;
    if (rate !== undefined) return rate;
  }
  return undefined;
}

/** Rates with what differs for the service tiers, by the provider's word: `batch`, `flex`, `priority`. */
export interface TieredRates extends AllRates {
  readonly tiers?: Readonly<Record<string, AllRates>>;
}

/** Rates of a model. */
export interface Price extends TieredRates {
  /** What differs for all of a call whose prompt has more tokens than `above`. */
  readonly long?: { readonly above: number } & TieredRates;
}

/** The rates of one call. @param promptTokens of its whole prompt @param tier as the provider names it */
export function ratesFor(price: Price, promptTokens: number, tier: string | undefined): AllRates {
  const { tiers, long } = price;
  const own = tier === undefined ? undefined : tiers?.[tier];
  // Most calls: nothing is made for them.
  if (long === undefined || promptTokens <= long.above)
    return own === undefined ? price : { ...price, ...own };
  return { ...price, ...long, ...own, ...(tier === undefined ? {} : long.tiers?.[tier]) };
}
