// What a model's calls cost.

/** Rates, in 1e-12 USD: of a token, `perCall` of a call, `perSearch` of one search of a rerank. A rate that is not there is the plain one of its side. */
export interface Rates {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  readonly inputAudio?: number;
  readonly outputAudio?: number;
  /** Of audio that is read from a provider's cache. */
  readonly cacheReadAudio?: number;
  readonly inputImage?: number;
  readonly outputImage?: number;
  readonly perCall?: number;
  readonly perSearch?: number;
}

export type RateName = keyof Rates;

/** Rates with what differs for the service tiers, by the provider's word: `batch`, `flex`, `priority`. */
export interface TieredRates extends Rates {
  readonly tiers?: Readonly<Record<string, Rates>>;
}

/** Rates of a model. */
export interface Price extends TieredRates {
  /** What differs for all of a call whose prompt has more tokens than `above`. */
  readonly long?: { readonly above: number } & TieredRates;
}

/** The rates of one call. @param promptTokens of its whole prompt @param tier as the provider names it */
export function ratesFor(price: Price, promptTokens: number, tier: string | undefined): Rates {
  const { tiers, long } = price;
  const own = tier === undefined ? undefined : tiers?.[tier];
  // Most calls: nothing is made for them.
  if (long === undefined || promptTokens <= long.above)
    return own === undefined ? price : { ...price, ...own };
  return { ...price, ...long, ...own, ...(tier === undefined ? {} : long.tiers?.[tier]) };
}
